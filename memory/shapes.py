"""Memories and turns as JSON: for commands, routes and exports. Keys may be added, never renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.times import iso
from pipeline.stores.memories import plain_object

if TYPE_CHECKING:
    from memory.recall import FoundMemory
    from memory.turn_index import Turn
    from pipeline.stores.memories import MemoryRow

Shape = dict[str, Any]

TIMES = ("created_at", "ended_at", "accessed_at", "at")
_APART = ("user", "embedded_by")


def memory_shape(row: MemoryRow) -> Shape:
    """Return a memory or another row by its fields, without user and vector; times in ISO 8601, UTC."""
    values = {key: value for key, value in plain_object(row).items() if key not in _APART}
    return values | {key: iso(values[key]) for key in TIMES if key in values}


def found_shape(found: FoundMemory) -> Shape:
    """Return a found memory with its score and the parts of that."""
    scores = {name: round(getattr(found.recalled, name), 6) for name in ("score", "recency", "relevance")}
    return memory_shape(found.memory) | scores


def turn_shape(turn: Turn, **scores: float) -> Shape:
    """Return a turn, with its scores where it was found."""
    own = {"speaker": turn.speaker or turn.role, "conversation_id": turn.session, "created_at": iso(turn.at)}
    return {"id": turn.id, "kind": "turn", "text": turn.text} | own | scores
