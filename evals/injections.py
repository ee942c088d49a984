"""How many memories are recalled for messages that have nothing to do with them, and how many are missed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ValidationError

from memory.options import PRESETS, MemoryOptions
from memory.reading.statements import statements_in
from memory.recalling.user_index import embedded_text
from pipeline.errors import DatasetError
from pipeline.given_files import DATA_BYTES, read_given
from pipeline.stores.memories import Memory

if TYPE_CHECKING:
    from pipeline.models.base import Encoder

DATA = Path(__file__).parent / "data" / "memory" / "injections.json"
THRESHOLDS = tuple(step / 100 for step in range(20, 62, 2))


class _Related(BaseModel):
    memory: str
    messages: list[str]


class _Messages(BaseModel):
    related: list[_Related]
    unrelated: list[str]


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """What one threshold lets through: counts of messages."""

    threshold: float
    false_injections: int  # unrelated messages for which anything is recalled
    missed: int  # related ones for which the right memory is not


@dataclass(frozen=True, slots=True)
class InjectionsReport:
    """Every threshold, and the one that is set for the model."""

    model: str
    memories: int
    related: int
    unrelated: int
    threshold: float
    at: tuple[AtThreshold, ...]

    @property
    def as_set(self) -> AtThreshold:
        """The row of the threshold that is set."""
        return min(self.at, key=lambda row: abs(row.threshold - self.threshold))


def count_injections(encoder: Encoder, path: Path = DATA) -> InjectionsReport:
    """All messages against all memories as one user's; raises `DatasetError` for a file that is none."""
    try:
        given = _Messages.model_validate(json.loads(read_given(path, most_bytes=DATA_BYTES)))
    except (OSError, ValueError, ValidationError) as error:
        raise DatasetError(
            f"Cannot read '{path}': {error}", "Give related and unrelated messages."
        ) from error
    memories = encoder.encode_passages([_embedded(item.memory) for item in given.related])
    right = [number for number, item in enumerate(given.related) for _ in item.messages]
    asked = [message for item in given.related for message in item.messages]
    related = np.stack([memories @ encoder.encode_query(message) for message in asked])
    unrelated = np.stack([memories @ encoder.encode_query(message) for message in given.unrelated])
    threshold = MemoryOptions().threshold_for(encoder.name)
    return InjectionsReport(
        model=encoder.name,
        memories=len(given.related),
        related=len(asked),
        unrelated=len(given.unrelated),
        threshold=threshold,
        at=tuple(_at(step, related, right, unrelated) for step in sorted({*THRESHOLDS, threshold})),
    )


def _embedded(text: str) -> str:
    """A text as it is embedded once it is remembered."""
    found = statements_in(f"Remember that {text}", said_at=0.0)
    predicate = found[0].predicate if len(found) == 1 else ""
    return embedded_text(Memory(id="", user="", text=text, predicate=predicate))


def _at(threshold: float, related: np.ndarray, right: Sequence[int], unrelated: np.ndarray) -> AtThreshold:
    most = PRESETS["inject"].most
    missed = 0
    for row, number in zip(related, right, strict=True):
        best = [int(place) for place in np.argsort(-row)[:most] if row[place] >= threshold]
        missed += number not in best
    return AtThreshold(threshold, int((unrelated.max(axis=1) >= threshold).sum()), missed)
