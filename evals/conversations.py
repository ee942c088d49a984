"""Long conversations with questions about them, in LoCoMo's format.

A file is a JSON list of samples, or one sample: sessions of turns between two speakers, and questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from dateutil.parser import ParserError, parse
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from evals.datasets import read_json
from memory.turn_index import Turn
from pipeline.errors import DatasetError

NEVER_SAID = "5"  # LoCoMo's category of adversarial questions
EXPECTED = "A sample has `conversation` with `session_1`, … and `qa` with `question` and `evidence`."
_ID = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)", re.IGNORECASE)
_SESSION = re.compile(r"session_(\d+)")


def repaired(evidence: Any) -> tuple[str, ...]:
    """Return the turn ids in a question's evidence, also from "D1:3; D2:4", "D 1:3" and "D1:03"."""
    ids = (match for text in _leaves(evidence) for match in _ID.findall(str(text)))
    return tuple(dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in ids))


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the values in nested lists and dicts in order, without None."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield value


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class Asked(_Row):
    """One question with the ids of the turns that answer it, and the gold answer ("" if unknown)."""

    question: str
    evidence: Annotated[tuple[str, ...], BeforeValidator(repaired)] = ()
    category: str = ""
    answer: Annotated[str, BeforeValidator(lambda answer: " ".join(map(str, _leaves(answer))))] = ""

    @property
    def never_said(self) -> bool:
        """Whether no turn answers the question, so that abstaining is right."""
        return self.category == NEVER_SAID


@dataclass(frozen=True, slots=True)
class Conversation:
    """One user's turns in order, with the questions that have evidence or need none."""

    name: str
    turns: tuple[Turn, ...]
    asked: tuple[Asked, ...]
    left_out: int  # questions whose evidence is missing


Text = Annotated[str, BeforeValidator(lambda text: "" if text is None else text)]


class _Said(_Row):
    speaker: str
    dia_id: str
    text: Text = ""
    blip_caption: Text = ""

    @property
    def seen(self) -> str:
        """The text, with the caption of its picture in brackets."""
        return f"{self.text} [{self.blip_caption}]".strip() if self.blip_caption else self.text


class _Sample(_Row):
    sample_id: str = ""
    conversation: dict[str, Any]
    qa: list[Asked]


_SAMPLES = TypeAdapter(list[_Sample])
_SAID = TypeAdapter(list[_Said])


def load_conversations(path: Path) -> list[Conversation]:
    """Return the conversations of a file, or of all JSON files of a folder by name; raise `DatasetError`."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    found = [held for file in files for held in _read(file)]
    if not any(asked.evidence for held in found for asked in held.asked):
        raise DatasetError(f"No question of '{path}' has evidence.", "Give the ids of turns as evidence.")
    return found


def _read(path: Path) -> list[Conversation]:
    found = read_json(path)
    try:
        samples = _SAMPLES.validate_python(found if isinstance(found, list) else [found])
        return [_sample(sample, number) for number, sample in enumerate(samples, start=1)]
    except ValidationError as error:
        first = error.errors()[0]
        where = " › ".join(map(str, first["loc"]))
        raise DatasetError(
            f"'{path}' is not in LoCoMo's format: {first['msg']} ({where}).", EXPECTED
        ) from error


def _sample(sample: _Sample, number: int) -> Conversation:
    sessions = sorted(int(found[1]) for key in sample.conversation if (found := _SESSION.fullmatch(key)))
    turns = [turn for session in sessions for turn in _session(sample.conversation, f"session_{session}")]
    known = {turn.id for turn in turns}
    asked = [
        item.model_copy(update={"evidence": tuple(turn for turn in item.evidence if turn in known)})
        for item in sample.qa
    ]
    kept = tuple(item for item in asked if item.evidence or item.never_said)
    return Conversation(sample.sample_id or str(number), tuple(turns), kept, len(asked) - len(kept))


def _session(held: dict[str, Any], name: str) -> Iterator[Turn]:
    at = seconds(str(held.get(f"{name}_date_time", "")))
    for turn in _SAID.validate_python(held[name] or []):
        turn_id = next(iter(repaired(turn.dia_id)), turn.dia_id)
        yield Turn(id=turn_id, session=name, text=turn.seen, speaker=turn.speaker, at=at)


def seconds(date: str) -> float | None:
    """Return a local date ("1:56 pm on 8 May, 2023", ISO 8601) as seconds since the epoch, else None."""
    try:
        return float(parse(date).astimezone().timestamp())
    except (ParserError, OverflowError):
        return None
