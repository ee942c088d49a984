"""Rows of memories as every store keeps them: one JSON text, and beside it what rows are found by.

A memory's vector is apart: it can be made again of the text, and an export leaves it out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from pipeline.stores.memories import (
    Entity,
    Memory,
    MemoryEvent,
    Mention,
    Relation,
    Row,
    UserMemories,
    text_hash,
)

Record = dict[str, Any]
KINDS: Mapping[str, type[Any]] = {
    "memory": Memory,
    "entity": Entity,
    "mention": Mention,
    "relation": Relation,
    "event": MemoryEvent,
}


def record_of(row: Row) -> Record:
    """A row as it is stored: `row` is its JSON without the vector, which stands beside it."""
    memory = row if isinstance(row, Memory) else None
    return {
        "user": row.user,
        "id": row.id,
        "kind": kind_of(row),
        "live": live_key(memory) if memory and memory.live else None,
        "row": row_json(row),
        "embedding": memory.embedding if memory else b"",
    }


def row_of(kind: str, stored: str, embedding: bytes) -> Row:
    """The row of a record; fields that this version does not know are left out. Raises ValueError."""
    row: Row = adapter(kind).validate_json(stored)
    if not isinstance(row, Memory):
        return row
    return replace(row, embedding=embedding, embedded_by=row.embedded_by if embedding else "")


def row_json(row: Row | MemoryEvent) -> str:
    """A row as JSON."""
    return json.dumps(plain_object(row), ensure_ascii=False)


def plain_object(row: Row | MemoryEvent) -> Record:
    """A row as a plain object, by its fields; without a vector."""
    found: Record = adapter(kind_of(row)).dump_python(row, exclude={"embedding"})
    return found


@cache
def adapter(kind: str) -> TypeAdapter[Any]:
    """Reads rows of a kind from plain objects or JSON; raises `ValidationError`, a ValueError."""
    return TypeAdapter(KINDS[kind])


def kind_of(row: Row | MemoryEvent) -> str:
    """What rows of this type are called."""
    return next(name for name, kind in KINDS.items() if isinstance(row, kind))


def live_key(memory: Memory) -> str:
    """What no two live memories of a user have alike."""
    return f"{memory.tier} {text_hash(memory.text).hex()}"


def user_memories(user: str, version: int, rows: Iterable[Row]) -> UserMemories:
    """The rows by kind, the oldest first."""
    return UserMemories(user=user, version=version, **_by_kind(rows))


def _by_kind(rows: Iterable[Row]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {"memory": [], "entity": [], "mention": [], "relation": []}
    for row in rows:
        found[kind_of(row)].append(row)
    return {
        "memories": tuple(sorted(found["memory"], key=lambda row: (row.created_at, row.id))),
        "entities": tuple(sorted(found["entity"], key=lambda row: (row.name, row.id))),
        "mentions": tuple(sorted(found["mention"], key=lambda row: (row.at, row.id))),
        "relations": tuple(sorted(found["relation"], key=lambda row: (row.at, row.id))),
    }
