"""Memories and turns as JSON: for commands, routes and tools. Keys may be added, never renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.times import iso

if TYPE_CHECKING:
    from memory.graph import Known
    from memory.recall import FoundMemory
    from memory.turn_index import FoundTurn, Turn
    from pipeline.stores.memories import Memory, MemorySource

Shape = dict[str, Any]

_SHOWN = (
    "id", "text", "kind", "tier", "importance", "pinned", "trusted", "why", "origin",
    "subject", "predicate", "object", "replaced_by",
)  # fmt: skip


def memory_shape(memory: Memory) -> Shape:
    """Return one memory; times in ISO 8601, UTC."""
    return {
        **{name: getattr(memory, name) for name in _SHOWN},
        "tags": list(memory.tags),
        "created_at": iso(memory.created_at),
        "ended_at": iso(memory.ended_at),
        "sources": [source_shape(source) for source in memory.sources],
    }


def source_shape(source: MemorySource) -> Shape:
    """Return where a memory comes from: a turn, a document or another memory, and the exact words."""
    if source.memory_id:
        return {"memory_id": source.memory_id}
    where = {"turn_id": source.turn_id, "part": source.part} if source.turn_id else {"source": source.source}
    return {**where, "start": source.start, "end": source.end, "quote": source.quote}


def found_shape(found: FoundMemory) -> Shape:
    """Return a found memory with its score and the parts of that."""
    scores = {name: round(getattr(found, name), 6) for name in ("score", "recency", "relevance")}
    return memory_shape(found.memory) | scores


def turn_shape(found: FoundTurn) -> Shape:
    """Return a found turn."""
    turn = found.turn
    return {
        **said_shape(turn),
        "speaker": turn.who,
        "role": turn.role,
        "conversation_id": turn.session,
        "created_at": iso(turn.at),
        "score": round(found.score, 6),
        "relevance": round(found.similarity, 6),
    }


def said_shape(turn: Turn) -> Shape:
    """Return a turn's id and text."""
    return {"id": turn.id, "kind": "turn", "text": turn.text}


def known_shape(known: Known) -> Shape:
    """Return an entity with the number of its mentions and the time of the last."""
    entity = known.entity
    shape = {"id": entity.id, "name": entity.name, "type": entity.type, "attributes": dict(entity.attributes)}
    return shape | {"count": known.mentions, "last_at": iso(known.last_at)}
