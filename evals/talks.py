"""Talks with the product, step by step; dialogues in LoCoMo's format are read as talks, too.

LoCoMo's format is a JSON list of samples: sessions of turns between two speakers, and questions.
`evals/data/README.md` describes the format and the counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from dateutil.parser import ParserError, parse
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from evals.datasets import read_json
from pipeline.errors import DatasetError

NEVER_SAID = "5"  # LoCoMo's category of adversarial questions
DAY_S = 86_400.0  # between the last turn of a dialogue and the questions
EXPECTED = "A sample has `conversation` with `session_1`, … and `qa` with `question` and `evidence`."
_ID = re.compile(r"D\W{0,3}(\d+)\s*:\s*(\d+)", re.IGNORECASE)
_SESSION = re.compile(r"session_(\d+)")

Words = list[str]


def seconds(date: Any) -> float | None:
    """Return a local date ("1:56 pm on 8 May, 2023", ISO 8601) in seconds since the epoch, or None."""
    if isinstance(date, int | float):
        return float(date)
    try:
        return float(parse(str(date)).astimezone().timestamp())
    except (ParserError, OverflowError):
        return None


class Step(BaseModel):
    """One step of a talk, at a time: a message (`say`), a question, or facts to look for in the memory."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    at: Annotated[float | None, BeforeValidator(seconds)]
    say: str = ""
    speaker: str = ""  # of a dialogue: nobody answers the message
    id: str = ""  # of a message
    session: int | None = None  # set on the first message of a conversation
    ask: str = ""
    evidence: tuple[str, ...] = ()  # ids of the messages that answer
    category: str = ""  # of a question about a dialogue
    any: list[Words] = []  # a right answer has all words of one list
    lacks: Words = []  # and no earlier line with one of these words
    needs: Literal["", "turn", "session", "correction"] = ""
    source: str = ""  # the document that the answer must cite
    reference: str = ""
    never_said: bool = False
    unrelated: str = ""  # a message for which nothing must be recalled
    live: list[Words] = []  # for each list, a kept fact must have its words
    never: list[Words] = []  # no kept fact may have all words of a list
    true: list[Words] = []  # a kept fact with all words of none of these lists is false


class Talk(BaseModel):
    """A talk of one user with the product: all its steps, in order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    kind: Literal["hurried", "sessions", "unrelated", "dialogue"]
    steps: list[Step]
    left_out: int = 0  # questions whose evidence is missing


_TALKS = TypeAdapter(list[Talk])


def is_of_talks(folder: Path) -> bool:
    """Whether a folder has talks instead of a question set: it has no `queries.jsonl`."""
    return not (folder / "queries.jsonl").exists()


def load_talks(path: Path) -> list[Talk]:
    """Return the talks of a file or a folder's JSON files; raise `DatasetError` if bad or asking nothing."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    talks = [talk for file in files for talk in _read(file)]
    if not any(step.ask or step.unrelated or step.live for talk in talks for step in talk.steps):
        raise DatasetError(f"'{path}' asks nothing.", "evals/data/README.md has the format of talks.")
    return talks


def _read(path: Path) -> list[Talk]:
    held = read_json(path)
    if not (isinstance(held, dict) and "talks" in held):
        return _dialogues(held, path)
    try:
        return _TALKS.validate_python(held["talks"])
    except ValidationError as error:
        fix = "evals/data/README.md has the format."
        raise DatasetError(f"'{path}' has a bad talk: {error.errors()[0]['msg']}.", fix) from error


# -- LoCoMo's format ------------------------------------------------------------------------------------


def repaired(evidence: Any) -> tuple[str, ...]:
    """Return the turn ids ("D1:3") in a question's evidence; read "D1:3; D2:4", "D 1:3" and "D1:03", too."""
    ids = _ID.findall(str(evidence))
    return tuple(dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in ids))


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


Text = Annotated[str, BeforeValidator(lambda text: "" if text is None else text)]


class _Asked(_Row):
    question: str
    evidence: Annotated[tuple[str, ...], BeforeValidator(repaired)] = ()
    category: str = "0"
    answer: Text = ""


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
    qa: list[_Asked]


_SAMPLES = TypeAdapter(list[_Sample])
_SAID = TypeAdapter(list[_Said])


def _dialogues(found: Any, path: Path) -> list[Talk]:
    """Return the dialogues in a file's JSON value as talks; raise `DatasetError` for another format."""
    try:
        samples = _SAMPLES.validate_python(found if isinstance(found, list) else [found])
        return [_talk(sample, f"{path.stem} {number}") for number, sample in enumerate(samples, start=1)]
    except ValidationError as error:
        first = error.errors()[0]
        where = " › ".join(map(str, first["loc"]))
        raise DatasetError(
            f"'{path}' is not in LoCoMo's format: {first['msg']} ({where}).", EXPECTED
        ) from error


def _talk(sample: _Sample, name: str) -> Talk:
    """Return a sample as a talk: its turns, then the questions that have evidence or need none."""
    sessions = sorted(int(found[1]) for key in sample.conversation if (found := _SESSION.fullmatch(key)))
    turns = [turn for number in sessions for turn in _session(sample.conversation, number)]
    known, last = {turn.id for turn in turns}, max((turn.at or 0.0 for turn in turns), default=0.0)
    steps = [*turns]
    for asked in sample.qa:
        evidence = tuple(turn for turn in asked.evidence if turn in known)
        if evidence or asked.category == NEVER_SAID:
            given = {"evidence": evidence, "reference": asked.answer, "category": asked.category}
            steps.append(
                Step(at=last + DAY_S, ask=asked.question, never_said=asked.category == NEVER_SAID, **given)
            )
    left_out = len(turns) + len(sample.qa) - len(steps)
    return Talk(name=f"{name} {sample.sample_id}", kind="dialogue", steps=steps, left_out=left_out)


def _session(held: dict[str, Any], number: int) -> Iterator[Step]:
    at = seconds(held.get(f"session_{number}_date_time"))
    for place, turn in enumerate(_SAID.validate_python(held[f"session_{number}"] or [])):
        turn_id = next(iter(repaired(turn.dia_id)), turn.dia_id)
        session = number if place == 0 else None
        yield Step(at=at, say=turn.seen, speaker=turn.speaker, id=turn_id, session=session)
