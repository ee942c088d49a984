"""Long conversations with questions about them, in LoCoMo's and in BEAM's format.

LoCoMo: a JSON list of samples (or one), sessions of turns between two speakers. BEAM: a folder a chat,
batches of turns with an assistant, at whatever depth, and questions by what they probe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from memory.turn_index import Spoken, Turn, cut
from pipeline.errors import DatasetError
from pipeline.given_files import DATA_BYTES, read_given

if TYPE_CHECKING:
    from memory.turn_index import Vectors

CHAT = "chat.json"
QUESTIONS = Path("probing_questions") / "probing_questions.json"
DEPTH = 3  # folders down to a chat
NEVER_SAID = ("5", "abstention")  # categories: LoCoMo's adversarial questions, BEAM's that it cannot answer
EXPECTED = f"Name a JSON file or a folder of them (LoCoMo), or a folder with N/{CHAT} (BEAM)."
DATES = (
    "%I:%M %p on %d %B, %Y",  # LoCoMo: 1:56 pm on 8 May, 2023
    "%d %B, %Y",
    "%d %B %Y",
    "%B-%d-%Y",  # BEAM: March-15-2024
    "%B %d, %Y",
)
_PARTS = re.compile(r"\d+|\D+")
_ID = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)", re.IGNORECASE)
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with the ids of the turns that answer it, and the answer where the data has one."""

    question: str
    evidence: tuple[str, ...]
    category: str
    gold: str = ""

    @property
    def never_said(self) -> bool:
        """Whether nobody said what is asked for, so that it is right not to answer."""
        return self.category in NEVER_SAID


@dataclass(frozen=True, slots=True)
class Conversation:
    """One user's turns, in order, and the questions that have evidence among them or need none."""

    name: str
    turns: tuple[Turn, ...]
    asked: tuple[Asked, ...]
    left_out: int  # questions without evidence that need some


def load_conversations(path: Path) -> list[Conversation]:
    """The conversations below a path, in the order of their names; raises `DatasetError`.

    A file is one of LoCoMo's, or a chat of BEAM's; a folder holds files or chats.
    """
    if path.is_dir():
        chats = [chat for depth in range(DEPTH + 1) for chat in path.glob("*/" * depth + CHAT)]
        files = [file for file in path.glob("*.json") if file.name != CHAT]
    elif path.is_file():
        chats, files = ([path], []) if path.name == CHAT else ([], [path])
    else:
        raise DatasetError(f"There is no '{path}'.", EXPECTED)
    found = [_beam(chat.parent) for chat in _sorted(chats)]
    found += [held for file in _sorted(files) for held in _locomo(file)]
    if not found:
        raise DatasetError(f"There is no conversation in '{path}'.", EXPECTED)
    if not any(asked.evidence for held in found for asked in held.asked):
        raise DatasetError(f"No question of '{path}' has evidence.", "Give the ids of turns as evidence.")
    return found


def read_json(path: Path) -> Any:
    """What a file says; raises `DatasetError`."""
    try:
        return json.loads(read_given(path, most_bytes=DATA_BYTES, encoding="utf-8-sig"))
    except OSError as error:
        raise DatasetError(f"Cannot read '{path}': {error.strerror}.", EXPECTED) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DatasetError(f"'{path}' is not JSON: {error}.", "Mend the file and evaluate again.") from error


def _sorted(paths: list[Path]) -> list[Path]:
    """By name, numbers by their value: 2 before 10."""
    return sorted(set(paths), key=lambda path: [part.zfill(9) for part in _PARTS.findall(str(path))])


def _conversation(name: str, turns: list[Turn], questions: list[Asked]) -> Conversation:
    """A conversation whose questions keep the evidence that is there; those without any are counted."""
    known = {turn.id for turn in turns}
    asked = []
    for item in questions:
        evidence = tuple(dict.fromkeys(found for found in item.evidence if found in known))
        if evidence or item.never_said:
            asked.append(replace(item, evidence=evidence))
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


def _leaves(value: Any) -> Iterator[Any]:
    """What stands in lists and dicts of any depth, in order; None is left out."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield value


def _text(gold: Any) -> str:
    """An answer as text: it may be a number, or a list of what it has to say."""
    return " ".join(map(str, _leaves(gold)))


def _misshapen(path: Path, form: str, error: ValidationError, expected: str) -> DatasetError:
    first = error.errors()[0]
    where = " › ".join(map(str, first["loc"]))
    return DatasetError(f"'{path}' is not in {form} format: {first['msg']} ({where}).", expected)


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


# -- BEAM --------------------------------------------------------------------------------------------


class _ChatTurn(_Row):
    role: str
    id: str
    content: str
    time_anchor: str | None = None


class _Probing(_Row):
    question: str
    source_chat_ids: Any = None
    gold: Any = Field(
        None, validation_alias=AliasChoices("answer", "ideal_response", "ideal_answer", "rubric")
    )


_KINDS = TypeAdapter(dict[str, list[_Probing]])


def _beam(folder: Path) -> Conversation:
    """One chat with its questions."""
    try:
        batches = list(_batches(read_json(folder / CHAT)))
        turns = [turn for number, batch in enumerate(batches) for turn in _chat_turns(batch, str(number))]
        kinds = _KINDS.validate_python(read_json(folder / QUESTIONS))
    except ValidationError as error:
        expected = f"{CHAT} has batches with `turns`, {QUESTIONS} has questions by kind."
        raise _misshapen(folder, "BEAM's", error, expected) from error
    if not turns:
        raise DatasetError(f"'{folder / CHAT}' has no turns.", "It is a list of batches with `turns`.")
    questions = [
        Asked(item.question, tuple(map(str, _leaves(item.source_chat_ids))), kind, _text(item.gold))
        for kind, items in kinds.items()
        for item in items
    ]
    return _conversation(folder.name, turns, questions)


def _batches(chat: Any) -> Iterator[dict[str, Any]]:
    """The objects with `turns`, at whatever depth they stand."""
    if isinstance(chat, dict) and "turns" in chat:
        yield chat
    elif isinstance(chat, dict | list):
        for item in chat.values() if isinstance(chat, dict) else chat:
            yield from _batches(item)


def _chat_turns(batch: dict[str, Any], session: str) -> Iterator[Turn]:
    anchor = batch.get("time_anchor")
    for row in _rows(batch["turns"]):
        turn = _ChatTurn.model_validate(row)
        anchor = turn.time_anchor or anchor
        yield Turn(
            id=turn.id,
            session=session,
            text=turn.content,
            role="user" if turn.role == "user" else "assistant",
            at=seconds(str(anchor or "")),
        )


def _rows(turns: Any) -> Iterator[Any]:
    if isinstance(turns, list):
        for item in turns:
            yield from _rows(item)
    else:
        yield turns


# -- LoCoMo ------------------------------------------------------------------------------------------

Text = Annotated[str, BeforeValidator(lambda text: "" if text is None else text)]


class _Said(_Row):
    speaker: str
    dia_id: str
    text: Text = ""
    blip_caption: Text = ""

    @property
    def seen(self) -> str:
        """What was written, and what the picture that came with it shows."""
        return f"{self.text} [{self.blip_caption}]".strip() if self.blip_caption else self.text


class _Question(_Row):
    question: str
    evidence: Any = None
    category: str = ""
    answer: Any = None


class _Sample(_Row):
    sample_id: str = ""
    conversation: dict[str, Any]
    qa: list[_Question]


_SAMPLES = TypeAdapter(list[_Sample])
_SAID = TypeAdapter(list[_Said])


def repaired(evidence: Any) -> tuple[str, ...]:
    """The turns' ids in a question's evidence, also in "D1:3; D2:4", "D 1:3", "D1:03" and "D:11:26"."""
    ids = (match for text in _leaves(evidence) for match in _ID.findall(str(text)))
    return tuple(dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in ids))


def _locomo(path: Path) -> list[Conversation]:
    """The samples of a file."""
    found = read_json(path)
    try:
        samples = _SAMPLES.validate_python(found if isinstance(found, list) else [found])
        return [_sample(sample, number) for number, sample in enumerate(samples, start=1)]
    except ValidationError as error:
        expected = "A sample has `conversation` with `session_1`, … and `qa` with `question` and `evidence`."
        raise _misshapen(path, "LoCoMo's", error, expected) from error


def _sample(sample: _Sample, number: int) -> Conversation:
    sessions = sorted(int(found[1]) for key in sample.conversation if (found := _SESSION.fullmatch(key)))
    turns = [turn for session in sessions for turn in _session(sample.conversation, f"session_{session}")]
    questions = [
        Asked(item.question, repaired(item.evidence), item.category, _text(item.answer)) for item in sample.qa
    ]
    return _conversation(sample.sample_id or str(number), turns, questions)


def _session(held: dict[str, Any], name: str) -> Iterator[Turn]:
    at = seconds(str(held.get(f"{name}_date_time", "")))
    for turn in _SAID.validate_python(held[name] or []):
        turn_id = next(iter(repaired(turn.dia_id)), turn.dia_id)
        yield Turn(id=turn_id, session=name, text=turn.seen, speaker=turn.speaker, at=at)


def spoken(turns: Sequence[Turn], *, embed: Callable[[Sequence[str]], Vectors]) -> list[Spoken]:
    """The turns as they are indexed, all embedded at once."""
    cuts = [cut(turn.text) for turn in turns]
    vectors = iter(embed([text for pieces in cuts for text in pieces])) if turns else iter(())
    rows = [np.stack([next(vectors) for _ in pieces]) for pieces in cuts]
    return list(map(Spoken, turns, cuts, rows))
