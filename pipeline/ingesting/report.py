"""The progress of an ingest while it runs, and the report on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from readers.files import UNKNOWN_ENDING, LeftOut
from readers.source import ReaderError

Stage = Literal["reading", "embedding", "storing", "indexing", "relating"]
ENDINGS = 5
"""Endings of files that the summary names."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an ingest: how many of the known documents are read or stored, or texts embedded."""

    stage: Stage
    done: int
    total: int
    document: str = ""


@dataclass(slots=True)
class IngestReport:
    """The result of an ingest, by source, filled while it runs."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    problems: list[ReaderError] = field(default_factory=list)
    sections: int = 0  # all that the index has in the end
    sentences: int = 0
    embedded: int = 0  # texts that went through the model
    seconds: float = 0.0
    stopped: bool = False
    warnings: list[str] = field(default_factory=list)  # about new or changed documents
    left_out: list[LeftOut] = field(default_factory=list)  # everything that was found and not read
    languages: dict[str, int] = field(default_factory=dict)  # new or changed documents by ISO 639-1 code
    outdated: str = ""  # why everything was embedded again, though nobody asked for it
    total: int = 0  # documents that should be in the index in the end


def left_out_summary(left_out: Sequence[LeftOut]) -> str:
    """Return the numbers of files and folders left out, by reason: `3 hidden, 9 of unknown ending (.png)`."""
    paths = [PurePosixPath(one.source) for one in left_out if one.reason == UNKNOWN_ENDING]
    common = [ending for ending, _ in Counter(path.suffix or path.name for path in paths).most_common()]
    endings = f" ({', '.join(common[:ENDINGS])}{' …' * (len(common) > ENDINGS)})"
    return ", ".join(
        f"{number:,} {reason}{endings * (reason == UNKNOWN_ENDING)}"
        for reason, number in Counter(one.reason for one in left_out).most_common()
    )
