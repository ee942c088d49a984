"""LoCoMo's format: a JSON list of samples (or one), sessions of turns between two speakers, and questions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from evals.conversations.records import Asked, Conversation, conversation, leaves, seconds
from memory.turns.index import Turn
from pipeline.errors import DatasetError

_ID = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)", re.IGNORECASE)
_SESSION = re.compile(r"session_(\d+)")

Text = Annotated[str, BeforeValidator(lambda text: "" if text is None else text)]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class _Turn(_Row):
    speaker: str
    dia_id: str
    text: Text = ""
    blip_caption: Text = ""


class _Question(_Row):
    question: str
    evidence: Any = None
    category: str = ""


class _Sample(_Row):
    sample_id: str = ""
    conversation: dict[str, Any]
    qa: list[_Question]


_SAMPLES = TypeAdapter(list[_Sample])
_TURNS = TypeAdapter(list[_Turn])


def read_locomo(found: Any, *, path: Path) -> list[Conversation]:
    """The samples of a parsed file; raises `DatasetError` where it is none of LoCoMo's."""
    try:
        samples = _SAMPLES.validate_python(found if isinstance(found, list) else [found])
        return [_conversation(sample, number) for number, sample in enumerate(samples, start=1)]
    except ValidationError as error:
        first = error.errors()[0]
        where = " › ".join(map(str, first["loc"]))
        raise DatasetError(
            f"'{path}' is not in LoCoMo's format: {first['msg']} ({where}).",
            "A sample has `conversation` with `session_1`, … and `qa` with `question` and `evidence`.",
        ) from error


def repaired(evidence: Any) -> tuple[str, ...]:
    """The turns' ids in a question's evidence, also in "D1:3; D2:4", "D 1:3", "D1:03" and "D:11:26"."""
    ids = (match for text in leaves(evidence) for match in _ID.findall(str(text)))
    return tuple(dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in ids))


def _conversation(sample: _Sample, number: int) -> Conversation:
    sessions = sorted(int(found[1]) for key in sample.conversation if (found := _SESSION.fullmatch(key)))
    turns = [turn for session in sessions for turn in _session(sample.conversation, session)]
    questions = [Asked(item.question, repaired(item.evidence), item.category) for item in sample.qa]
    return conversation(sample.sample_id or str(number), turns, questions)


def _session(held: dict[str, Any], session: int) -> list[Turn]:
    name = f"session_{session}"
    at = seconds(str(held.get(f"{name}_date_time", "")))
    return [
        Turn(
            id=next(iter(repaired(turn.dia_id)), turn.dia_id),
            session=name,
            text=_seen(turn),
            speaker=turn.speaker,
            at=at,
        )
        for turn in _TURNS.validate_python(held[name] or [])
    ]


def _seen(turn: _Turn) -> str:
    """What was written, and what the picture that came with it shows."""
    return f"{turn.text} [{turn.blip_caption}]".strip() if turn.blip_caption else turn.text
