"""Rewriting: one call to the language model turns a message into queries that need no conversation.

The same call splits a message that asks several things, translates it into the documents' language and, if
HyDE is on, writes the hypothetical paragraph.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from pipeline.answer import Message
from pipeline.errors import ModelError

if TYPE_CHECKING:
    from pipeline.models.clients import LanguageModel

TIMEOUT_S = 20.0
LONGEST_SAID = 600  # characters of each earlier message
LAST_MESSAGES = 6

Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]

INSTRUCTIONS = """\
You turn the last message of a conversation into search queries for a documentation.
- Write one query that asks what the last message asks, clear without the conversation: it names what "it",
  "one", "that" or "the other" stand for. Never repeat an earlier question.
- Only where the last message itself asks several separate things, write one query for each, three at most.
- If the last message starts a new topic, leave the earlier topic out.
- Keep names, ids, numbers and commands as they are. Write in the documents' language: {languages}.
Reply with JSON alone: {{"queries": ["..."], "hypothesis": "{hypothesis}"}}"""
HYPOTHESIS = "a short paragraph as the documentation would have it, with plausible details"

EXAMPLES = (  # with one example, the 1.5B model repeated the earlier question
    (
        "User: How do I change the filter of pump P2?",
        "and how often?",
        "How often is the filter of P2 changed?",
    ),
    ("User: Which printers are there?", "what if one is jammed?", "What do I do if a printer is jammed?"),
    (
        "User: Who waters the roses?",
        "And the ferns? Also, where is the hose?",
        "Who waters the ferns?",
        "Where is the hose?",
    ),
    ("User: Which printers are there?", "How do I reset my password?", "How do I reset my password?"),
)
"""Rows of: the end of a conversation, its last message, and one or more queries for that message."""


class Rewritten(BaseModel):
    """One to three standalone queries, and a hypothetical paragraph or ""."""

    queries: Annotated[list[Query], Field(min_length=1, max_length=3)]
    hypothesis: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000)] = ""


def rewrite_prompt(
    history: Sequence[Message], message: str, *, languages: Sequence[str], hyde: bool, into: str = ""
) -> list[Message]:
    """Return the prompt that asks for the queries, with the last `LAST_MESSAGES` messages of the history.

    `into` is the language to translate into, or "". It ends the prompt: small models follow the last line.
    """
    said = "\n".join(
        f"{item.role.capitalize()}: {' '.join(item.text[:LONGEST_SAID].split())}"
        for item in history[-LAST_MESSAGES:]
    )
    instructions = INSTRUCTIONS.format(
        languages=", ".join(languages) or "en", hypothesis=HYPOTHESIS if hyde else ""
    )
    shown = [one for before, last, *queries in EXAMPLES for one in _example(before, last, queries)]
    last = _asked(said, message + (f"\nIts queries, translated into {into}:" if into else ""))
    return [Message("system", instructions), *shown, last]


def _asked(said: str, message: str) -> Message:
    return Message("user", f"{said}\nLast message: {message}")


def _example(before: str, last: str, queries: Sequence[str]) -> tuple[Message, Message]:
    return _asked(before, last), Message("assistant", json.dumps({"queries": queries, "hypothesis": ""}))


def rewrite(
    llm: LanguageModel,
    history: Sequence[Message],
    message: str,
    *,
    languages: Sequence[str],
    hyde: bool,
    into: str = "",
    stop: threading.Event,
) -> Rewritten:
    """Ask the model for the queries; raise `ModelError` if it fails or its reply is not the expected JSON."""
    from pipeline.models.generation import complete

    prompt = rewrite_prompt(history, message, languages=languages, hyde=hyde, into=into)
    reply = complete(llm, prompt, timeout_s=TIMEOUT_S, stop=stop, json_schema=Rewritten.model_json_schema())
    try:
        return Rewritten.model_validate_json(reply[reply.find("{") : reply.rfind("}") + 1])
    except ValidationError as error:
        problem = "The model did not reply in the expected format."
        raise ModelError(problem, "Ask the question in full, or choose a larger model.") from error
