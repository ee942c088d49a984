"""Rewriting: one call to the language model turns a message into queries that need no conversation.

The same call splits a message that asks several things, translates it into the documents' language, and
writes the hypothetical paragraph where HyDE is on.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from pipeline.errors import ModelError
from pipeline.messages import Message

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

TIMEOUT_S = 20.0
LONGEST_SAID = 600  # characters of a message of the history
LAST_MESSAGES = 6

Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]

INSTRUCTIONS = """\
You turn the last message of a conversation into search queries for a documentation.
- Write one query that is clear without the conversation: say what "it", "that" or "the other one" is.
- Only where the message asks several separate things, write one query for each, three at most.
- If the message starts a new topic, leave the earlier topic out.
- Keep names, ids, numbers and commands as they are. Write in the documents' language: {languages}.
Reply with JSON alone: {{"queries": ["..."], "hypothesis": "{hypothesis}"}}"""
HYPOTHESIS = "a short paragraph as the documentation would have it, with plausible details"

EXAMPLE = (
    Message("user", "User: How do I change the filter of pump P2?\nLast message: and how often?"),
    Message(
        "assistant", '{"queries": ["How often must the filter of pump P2 be changed?"], "hypothesis": ""}'
    ),
)


class Rewritten(BaseModel):
    """One to three standalone queries, and a hypothetical paragraph or ""."""

    queries: Annotated[list[Query], Field(min_length=1, max_length=3)]
    hypothesis: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000)] = ""


def rewrite_prompt(
    history: Sequence[Message], message: str, *, languages: Sequence[str], hyde: bool
) -> list[Message]:
    """Return the messages that ask for the queries; the newest part of the history is enough."""
    names = {"user": "User", "assistant": "Assistant", "system": "System"}
    said = "\n".join(
        f"{names[item.role]}: {' '.join(item.text[:LONGEST_SAID].split())}"
        for item in history[-LAST_MESSAGES:]
    )
    instructions = INSTRUCTIONS.format(
        languages=", ".join(languages) or "en", hypothesis=HYPOTHESIS if hyde else ""
    )
    asked = Message("user", f"{said}\nLast message: {message}")
    return [Message("system", instructions), *EXAMPLE, asked]


def rewrite(
    llm: LLM,
    history: Sequence[Message],
    message: str,
    *,
    languages: Sequence[str],
    hyde: bool,
    stop: threading.Event,
) -> Rewritten:
    """Ask the model for the queries; raises `ModelError` where it fails or its reply is not that JSON."""
    from pipeline.models.generation import complete

    prompt = rewrite_prompt(history, message, languages=languages, hyde=hyde)
    reply = complete(llm, prompt, timeout_s=TIMEOUT_S, stop=stop, json_schema=Rewritten.model_json_schema())
    try:
        return Rewritten.model_validate_json(reply[reply.find("{") : reply.rfind("}") + 1])
    except ValidationError as error:
        problem = "The model's reply is not the JSON that was asked for."
        raise ModelError(problem, "Ask the question in full, or choose a larger model.") from error
