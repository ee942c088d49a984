"""Memories as JSON: what commands print, and what an export holds. Keys may be added, never renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.times import iso
from pipeline.stores.memories import Entity, Memory, MemoryEvent, MemorySource, Mention

if TYPE_CHECKING:
    from memory.recalling.graph import Known
    from memory.recalling.recall import FoundMemory
    from memory.recalling.turn_index import FoundTurn, Turn

Shape = dict[str, Any]


_SHOWN = (
    "id", "text", "kind", "tier", "category", "tags", "importance", "pinned", "trusted", "stale", "disputed",
    "valid_at", "invalid_at", "created_at", "expired_at", "sources", "why", "origin", "subject", "predicate",
    "object",
)  # fmt: skip


def memory_shape(memory: Memory) -> Shape:
    """One memory; times in ISO 8601, UTC."""
    times = ("valid_at", "invalid_at", "created_at", "expired_at")
    return {
        **{name: getattr(memory, name) for name in _SHOWN},
        **{name: iso(getattr(memory, name)) for name in times},
        "tags": list(memory.tags),
        "disputed": bool(memory.disputed),
        "sources": [source_shape(source) for source in memory.sources],
    }


def source_shape(source: MemorySource) -> Shape:
    """Where a memory comes from: a turn, a document or another memory, and the exact words."""
    if source.memory_id:
        return {"memory_id": source.memory_id}
    where = {"turn_id": source.turn_id, "part": source.part} if source.turn_id else {"source": source.source}
    return {**where, "start": source.start, "end": source.end, "quote": source.quote}


def found_shape(found: FoundMemory) -> Shape:
    """One memory that was found, with its score and what it is made of."""
    parts = {name: round(getattr(found, name), 6) for name in ("score", "recency", "relevance")}
    return memory_shape(found.memory) | parts


def turn_shape(found: FoundTurn) -> Shape:
    """Something that was said, as a search found it."""
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
    """Something that was said, where it goes."""
    return {"id": turn.id, "kind": "turn", "text": turn.text}


def known_shape(known: Known) -> Shape:
    """Somebody or something, how often it was spoken of, and when last."""
    entity = known.entity
    shape = {"id": entity.id, "name": entity.name, "type": entity.type, "aliases": list(entity.aliases)}
    return shape | {"count": known.mentions, "last_at": iso(known.last_at)}


def mention_shape(mention: Mention, entity: Entity) -> Shape:
    """Somebody or something was spoken of: when, and in what."""
    who = {"at": iso(mention.at), "id": mention.entity_id, "name": entity.name, "type": entity.type}
    return who | {name: getattr(mention, name) for name in ("memory_id", "turn_id", "source")}


def event_shape(event: MemoryEvent) -> Shape:
    """What was done to a memory, and when."""
    shape = {name: getattr(event, name) for name in ("memory_id", "action", "at", "other_id")}
    return shape | {"at": iso(event.at)}
