"""A conversation and what is asked about it, whatever the file's format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory.turns.index import Turn

DATES = (
    "%I:%M %p on %d %B, %Y",  # LoCoMo: 1:56 pm on 8 May, 2023
    "%d %B, %Y",
    "%d %B %Y",
    "%B-%d-%Y",  # BEAM: March-15-2024
    "%B %d, %Y",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with the ids of the turns that answer it."""

    question: str
    evidence: tuple[str, ...]
    category: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One user's turns, in order, and the questions that have evidence among them."""

    name: str
    turns: tuple[Turn, ...]
    asked: tuple[Asked, ...]
    left_out: int  # questions without evidence


def conversation(name: str, turns: list[Turn], questions: list[Asked]) -> Conversation:
    """A conversation whose questions keep the evidence that is there; those without any are counted."""
    known = {turn.id for turn in turns}
    asked = []
    for item in questions:
        evidence = tuple(dict.fromkeys(found for found in item.evidence if found in known))
        if evidence:
            asked.append(Asked(item.question, evidence, item.category))
    return Conversation(name, tuple(turns), tuple(asked), len(questions) - len(asked))


def seconds(date: str) -> float | None:
    """A date of one of the formats, or ISO 8601, as seconds since the epoch, local time; None for others."""
    text = " ".join(date.split())
    for form in DATES:
        try:
            return datetime.strptime(text, form).astimezone().timestamp()
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError:
        return None


def leaves(value: Any) -> Iterator[Any]:
    """What stands in lists and dicts of any depth, in order; None is left out."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield value
