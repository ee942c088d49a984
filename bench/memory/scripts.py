"""Scripted conversations: steps of what is said and of what must hold then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from pipeline.errors import DatasetError

FOLDER = Path(__file__).parents[2] / "evals" / "data" / "memory" / "scripts"
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
