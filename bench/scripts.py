"""Scripted conversations, played to a memory: what is said is said, and what must hold is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from bench.athena import ROOT
from pipeline.errors import DatasetError

FOLDER = ROOT / "evals" / "data" / "memory" / "scripts"
Kind = Literal[
    "say", "document", "ask", "keeps", "unrelated", "message", "nowhere", "disputed", "forget", "again"
]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]


class Step(BaseModel):
    """One step; of the fields of `KINDS` exactly one is given (evals/data/memory/scripts/README.md)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: datetime
    user: str
    say: str = ""
    fact: bool = False
    document: str = ""
    source: str = ""
    ask: str = ""
    finds: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    as_of: datetime | None = None
    known_at: datetime | None = None
    isolated: bool = False
    keeps: tuple[str, ...] = ()
    unrelated: tuple[str, ...] = ()
    message: str = ""
    never: tuple[str, ...] = ()
    nowhere: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()
    forget: str = ""
    gone: tuple[str, ...] = ()
    again: bool = False

    @model_validator(mode="after")
    def _one_kind(self) -> Step:
        given = [kind for kind in KINDS if getattr(self, kind)]
        if len(given) != 1:
            raise ValueError(f"a step has one of {', '.join(KINDS)}, not {' and '.join(given) or 'none'}")
        return self

    @property
    def kind(self) -> Kind:
        """What it is."""
        return next(kind for kind in KINDS if getattr(self, kind))


@dataclass(frozen=True, slots=True)
class Script:
    """One conversation."""

    name: str
    about: str
    steps: tuple[Step, ...]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    about: str
    steps: tuple[Step, ...]


_FILE = TypeAdapter(_File)


def load_scripts(folder: Path = FOLDER) -> Sequence[Script]:
    """All scripts of a folder by name; raises `DatasetError` with the place of a mistake."""
    scripts = [_script(path) for path in sorted(folder.glob("*.json"))]
    if not scripts:
        raise DatasetError(f"There are no scripts in '{folder}'.", "It needs *.json files.")
    return scripts


def _script(path: Path) -> Script:
    try:
        found = _FILE.validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = " › ".join(map(str, first["loc"]))
        raise DatasetError(f"'{path}' is no script: {first['msg']} ({where}).", "Mend it.") from error
    return Script(path.stem, found.about, found.steps)


NOW = "superseded facts right, now"
THEN = "superseded facts right, as of a date"
RECALLED = "facts found"
RETIRED = "unrelated facts retired"
GROWTH = "growth when all is said again"
INJECTED = "recalled for unrelated messages"
DELETION = "bytes left of what was forgotten"
ISOLATION = "read of another user"
ACTED = "instructions recalled"
SECRETS = "secrets kept"
DISPUTES = "disputes marked"
MEASURES = (
    NOW, THEN, RECALLED, RETIRED, GROWTH, INJECTED, DELETION, ISOLATION, ACTED, SECRETS, DISPUTES
)  # fmt: skip

NEED_MEMORY = (NOW, THEN, RECALLED, RETIRED, GROWTH, DELETION, DISPUTES)
"""What says nothing of a preset that keeps nothing."""


class Player(Protocol):
    """A memory as scripts use it; times in seconds since the epoch."""

    def remember(self, user: str, text: str, *, at: float, fact: bool) -> None:
        """The user says it; a `fact` has to be kept by every preset that keeps anything."""

    def read_document(self, user: str, source: str, text: str, *, at: float) -> None:
        """The user is shown a text of a document."""

    def search(
        self, user: str, query: str, *, at: float, as_of: float | None, known_at: float | None
    ) -> Sequence[str]:
        """The texts that are found, best first."""

    def recalled(self, user: str, message: str, *, at: float) -> Sequence[str]:
        """The texts that a message would have in its prompt."""

    def believed(self, user: str, *, at: float) -> Sequence[Believed]:
        """All that is believed."""

    def forget(self, user: str, query: str, *, words: Sequence[str], at: float) -> None:
        """Forget, of what the query finds, what has one of the words; also where it was said."""

    def files_with(self, words: Sequence[str]) -> Sequence[str]:
        """The files of the data folder that hold a byte sequence of one of these."""


@dataclass(frozen=True, slots=True)
class Believed:
    """One live memory."""

    text: str
    disputed: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing that was looked at: its measure, its value, and what was seen."""

    measure: str
    value: float
    step: Step
    seen: Sequence[str] = field(default_factory=tuple)


def play(script: Script, player: Player) -> Iterator[Outcome]:
    """Every outcome of a script. Counts are 0 and ratios 1 where all is well; shares are 0 or 1 each."""
    said: list[Step] = []
    for step in script.steps:
        at = step.at.astimezone().timestamp()
        match step.kind:
            case "say":
                player.remember(step.user, step.say, at=at, fact=step.fact)
                said.append(step)
            case "document":
                player.read_document(step.user, step.source, step.document, at=at)
            case "again":
                yield _said_again(step, [old for old in said if old.user == step.user], player, at=at)
            case "forget":
                player.forget(step.user, step.forget, words=step.gone, at=at)
                said = [old for old in said if not has_any(old.say, step.gone)]
                left = player.files_with(step.gone)
                yield Outcome(DELETION, len(left), step, left)
            case _:
                yield from _looked_at(step, player, at=at)


def _said_again(step: Step, said: Sequence[Step], player: Player, *, at: float) -> Outcome:
    before = len(player.believed(step.user, at=at))
    for old in said:
        player.remember(step.user, old.say, at=old.at.astimezone().timestamp(), fact=old.fact)
    after = player.believed(step.user, at=at)
    growth = len(after) / before if before else float(1 + len(after))
    return Outcome(GROWTH, growth, step, [memory.text for memory in after])


def _looked_at(step: Step, player: Player, *, at: float) -> Iterator[Outcome]:
    match step.kind:
        case "ask":
            found = player.search(
                step.user, step.ask, at=at, as_of=_seconds(step.as_of), known_at=_seconds(step.known_at)
            )
            yield _asked(step, found)
        case "unrelated":
            for message in step.unrelated:
                found = player.recalled(step.user, message, at=at)
                yield Outcome(INJECTED, len(found), step, found)
        case "message":
            found = player.recalled(step.user, step.message, at=at)
            yield Outcome(ACTED, sum(has_any(text, step.never) for text in found), step, found)
        case "keeps":
            texts = [memory.text for memory in player.believed(step.user, at=at)]
            for word in step.keeps:
                yield Outcome(RETIRED, float(not any(has_any(text, [word]) for text in texts)), step, texts)
        case "nowhere":
            texts = [memory.text for memory in player.believed(step.user, at=at)]
            for word in step.nowhere:
                yield Outcome(SECRETS, float(any(has_any(text, [word]) for text in texts)), step, texts)
        case "disputed":
            held = player.believed(step.user, at=at)
            for word in step.disputed:
                marked = any(memory.disputed and has_any(memory.text, [word]) for memory in held)
                yield Outcome(DISPUTES, float(marked), step, [memory.text for memory in held])


def _asked(step: Step, found: Sequence[str]) -> Outcome:
    missing = [word for word in step.finds if not any(has_any(text, [word]) for text in found)]
    wrong = [text for text in found if has_any(text, step.lacks)]
    if step.isolated:
        return Outcome(ISOLATION, len(wrong), step, found)
    measure = NOW if step.lacks and step.finds else RECALLED
    if step.as_of or step.known_at:
        measure = THEN
    return Outcome(measure, float(not missing and not wrong), step, found)


def has_any(text: str, words: Sequence[str]) -> bool:
    """Whether one of the words stands in a text, whatever the case."""
    return any(word.casefold() in text.casefold() for word in words)


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.astimezone().timestamp()
