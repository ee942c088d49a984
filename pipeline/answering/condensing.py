"""Condense: the history and the last message become one question that stands alone.

A language model does it by prompt. Without one, or when it fails, rules do: a message that leans on what was
said before (`pipeline/asking/leaning.py`) gets the topic in front, any other stays as it is. Rules can be
wrong about that, so the other reading is searched for beside it, with a smaller share;
`docs/decisions/condensing.md` says what was measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pipeline.asking.leaning import COURTESY, NEW_TOPIC, leans, says_something
from pipeline.errors import ModelError
from pipeline.finding.beside import Beside
from pipeline.messages import Message
from pipeline.terms import content_terms

MAX_TURNS_BACK = 4  # how far back a topic is looked for
LONGEST_CARRIED = 200  # characters of an earlier message
MAX_CONDENSED = 600  # characters: a longer reply is an answer, not a question

# Share of a leaning message's own words, beside those with the topic: chosen on "dev" of the calibration. How
# much a message that stands alone gets of the other reading is decided by their vectors.
BY_ITSELF = 0.4


@dataclass(frozen=True, slots=True)
class Condensed:
    """The question that is searched for, what was carried over from where, and how it was made.

    `beside` is the other reading of the message: by itself where it leans, after the message before it
    where it stands alone; None where there is no doubt.
    """

    question: str
    carried: str = ""
    by: str = "as asked"  # "as asked", "rules", "model"
    problem: str = ""  # why the model's version was not used
    beside: Beside | None = None


def condense(
    history: Sequence[Message],
    message: str,
    *,
    rewrite: Callable[[Sequence[Message], str], str] | None = None,
) -> Condensed:
    """The message as a question that stands alone.

    `rewrite` is a language model's attempt; where it raises `ModelError`, says nothing or answers instead,
    the rules step in and `problem` says why.
    """
    if not history:
        return Condensed(message)
    if rewrite is None:
        return by_rules(history, message)
    try:
        question = _tidy(rewrite(history, message))
    except ModelError as error:
        return replace(by_rules(history, message), problem=str(error))
    if not question:
        return replace(by_rules(history, message), problem="the model's version could not be used")
    return Condensed(question, by="model" if question != message else "as asked")


def by_rules(history: Sequence[Message], message: str) -> Condensed:
    """The message with the topic that it leans on, or as it is; beside it the other reading."""
    if COURTESY.match(message):
        return Condensed(message)
    switched = NEW_TOPIC.sub("", message)
    if switched != message and switched.strip():
        return Condensed(switched.strip(), by="rules")
    if leans(message):
        carried = topic(history, beside=message)
        if carried:
            # "Why?" by itself finds whatever has a "why" in it.
            beside = Beside(message, BY_ITSELF) if says_something(message) else None
            return Condensed(f"{carried}: {message}", carried, by="rules", beside=beside)
    before = [_shortened(text) for text in _asked(history)[-1:]]
    return Condensed(message, beside=Beside(f"{before[0]}: {message}") if before else None)


def topic(history: Sequence[Message], *, beside: str) -> str:
    """What the conversation is about: the latest question that stands alone, with what followed it.

    A question that leans itself brings the one before it along; one that adds nothing new to the message
    is left out.
    """
    parts: list[str] = []
    known = set(content_terms(beside))
    for text in reversed(_asked(history)[-MAX_TURNS_BACK:]):
        new = [term for term in content_terms(text) if term not in known]
        if new:
            parts.insert(0, _shortened(text))
            known.update(new)
        if not leans(text):
            break
    return "; ".join(parts)


def _asked(history: Sequence[Message]) -> list[str]:
    """What the user said, without greetings and thanks."""
    return [said.text for said in history if said.role == "user" and not COURTESY.match(said.text)]


def _shortened(text: str) -> str:
    flat = " ".join(text.split()).rstrip(" ?.!,;:")
    return flat if len(flat) <= LONGEST_CARRIED else flat[:LONGEST_CARRIED].rsplit(" ", 1)[0]


def _tidy(reply: str) -> str:
    """The model's question without quotes and labels; "" where it is an essay instead."""
    lines = [line.strip() for line in reply.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    text = re.sub(r"^(standalone question|question)\s*:\s*", "", lines[-1], flags=re.IGNORECASE).strip(
        "\"'` "
    )
    return text if len(text) <= MAX_CONDENSED and len(lines) <= 3 else ""
