"""From rows to memories and what belongs to them, and whether values are of the types that were written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pipeline.stores.embedded.checksums import Damaged
from pipeline.stores.memories import Entity, Memory, MemoryEvent, MemorySource, Mention, Relation

MEMORY = [field.name for field in fields(Memory) if field.name != "sources"]
SOURCE = [field.name for field in fields(MemorySource)]
ENTITY = [field.name for field in fields(Entity)]
MENTION = [field.name for field in fields(Mention)]
RELATION = [field.name for field in fields(Relation)]
EVENT = [field.name for field in fields(MemoryEvent)]


def read_source(row: Sequence[Any]) -> MemorySource:
    """From a row to where a memory comes from; raises `Damaged`."""
    return MemorySource(**_checked("memory_source", SOURCE, row))


def read_memory(row: Sequence[Any], sources: Mapping[str, Sequence[MemorySource]]) -> Memory:
    """From a row to a memory, with the sources of its id; raises `Damaged`."""
    given = _checked("memory", MEMORY, row)
    for name in ("pinned", "trusted", "stale"):
        given[name] = bool(given[name])
    success, tags = given["success"], given["tags"]
    given["success"] = None if success is None else bool(success)
    given["tags"] = () if tags == "[]" else tuple(_from_json("memory", tags, list))
    return Memory(**given, sources=tuple(sources.get(given["id"], ())))


def read_entity(row: Sequence[Any]) -> Entity:
    """From a row to an entity; raises `Damaged`."""
    given = _checked("entity", ENTITY, row)
    aliases = tuple(_from_json("entity", given["aliases"], list))
    attributes = _from_json("entity", given["attributes"], dict)
    return Entity(**given | {"aliases": aliases, "attributes": attributes})


def read_mention(row: Sequence[Any]) -> Mention:
    """From a row to a mention; raises `Damaged`."""
    return Mention(**_checked("mention", MENTION, row))


def read_relation(row: Sequence[Any]) -> Relation:
    """From a row to a relation; raises `Damaged`."""
    return Relation(**_checked("relation", RELATION, row))


def read_event(row: Sequence[Any]) -> MemoryEvent:
    """From a row to an event; raises `Damaged`."""
    return MemoryEvent(**_checked("memory_event", EVENT, row))


_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("importance", "valid_at", "invalid_at", "expired_at", "accessed_at"), float),
    **dict.fromkeys(("created_at", "at"), float),
    **dict.fromkeys(("success", "pinned", "trusted", "stale", "accesses", "start", "end"), int),
    "embedding": bytes,
}
"""Of columns that are no text."""
_PERHAPS = {"importance", "success", "valid_at", "invalid_at", "expired_at", "accessed_at"}


def _checked(table: str, columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    """A row by its columns; raises `Damaged` where a value is of another type than was written."""
    for name, value in zip(columns, row, strict=True):
        if type(value) is not _TYPES.get(name, str) and not (value is None and name in _PERHAPS):
            raise _damaged(table)
    return dict(zip(columns, row, strict=True))


def _from_json(table: str, text: str, kind: type) -> Any:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise _damaged(table) from error
    if not isinstance(found, kind):
        raise _damaged(table)
    return found


def _damaged(table: str) -> Damaged:
    return Damaged(f"a row of the table '{table}' is not as it was written")


def drop_damaged_memories(connection: sqlite3.Connection) -> None:
    """Delete the rows that cannot be read."""
    kinds: Sequence[tuple[str, Sequence[str], Callable[[Sequence[Any]], object]]] = (
        ("memory_source", SOURCE, read_source),
        ("memory", MEMORY, lambda row: read_memory(row, {})),
        ("entity", ENTITY, read_entity),
        ("mention", MENTION, read_mention),
        ("relation", RELATION, read_relation),
        ("memory_event", EVENT, read_event),
    )
    for table, columns, read in kinds:
        for number, *row in connection.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}").fetchall():
            try:
                read(row)
            except Damaged:
                connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))
