"""From rows to memories and what belongs to them, and whether values are of the types that were written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from pipeline.stores.embedded.checksums import Damaged, check_row, is_sound
from pipeline.stores.embedded.schema import (
    ENTITY_CHECKED,
    MEMORY_CHECKED,
    MENTION_CHECKED,
    RELATION_CHECKED,
    SOURCE_CHECKED,
)
from pipeline.stores.memories import Entity, Memory, MemoryEvent, MemorySource, Mention, Relation

MEMORY = [field.name for field in fields(Memory) if field.name != "sources"]
SOURCE = [field.name for field in fields(MemorySource)]
ENTITY = [field.name for field in fields(Entity)]
MENTION = [field.name for field in fields(Mention)]
RELATION = [field.name for field in fields(Relation)]
EVENT = [field.name for field in fields(MemoryEvent)]

_EMBEDDING = ("embedding", "embedded_by")
CHECKED: Mapping[str, Sequence[str]] = {
    "memory": MEMORY_CHECKED.split(", "),
    "memory_source": SOURCE_CHECKED.split(", "),
    "entity": ENTITY_CHECKED.split(", "),
    "mention": MENTION_CHECKED.split(", "),
    "relation": RELATION_CHECKED.split(", "),
}
STORED: Mapping[str, Sequence[str]] = {
    **{table: [*columns, "checksum"] for table, columns in CHECKED.items()},
    "memory": [*CHECKED["memory"], "checksum", *_EMBEDDING, "embedding_checksum"],
    "memory_event": EVENT,
}
"""The columns that are read of each table."""

Stored = Sequence[Any]
"""A row with the columns of `STORED`."""


def read_source(row: Stored) -> MemorySource:
    """From a row to where a memory comes from; raises `Damaged`."""
    given = _sound("memory_source", row)
    return MemorySource(**{name: given[name] for name in SOURCE})


def read_memory(row: Stored, sources: Mapping[str, Sequence[MemorySource]]) -> Memory:
    """From a row to a memory, with the sources of its id; raises `Damaged`.

    One whose embedding alone is damaged has none: it is made again of the text.
    """
    given = _sound("memory", row)
    embedding, embedded_by, stored = row[-3:]
    if not is_sound((embedding, embedded_by), stored):
        embedding, embedded_by = b"", ""
    for name in ("pinned", "trusted", "stale"):
        given[name] = bool(given[name])
    success, tags = given["success"], given["tags"]
    given["success"] = None if success is None else bool(success)
    given["tags"] = () if tags == "[]" else tuple(_from_json("memory", tags, list))
    del given["hash"]
    of_it = tuple(sources.get(given["id"], ()))
    return Memory(**given, embedding=embedding, embedded_by=embedded_by, sources=of_it)


def read_entity(row: Stored) -> Entity:
    """From a row to an entity; raises `Damaged`."""
    given = _sound("entity", row)
    aliases = tuple(_from_json("entity", given["aliases"], list))
    attributes = _from_json("entity", given["attributes"], dict)
    return Entity(**given | {"aliases": aliases, "attributes": attributes})


def read_mention(row: Stored) -> Mention:
    """From a row to a mention; raises `Damaged`."""
    return Mention(**_sound("mention", row))


def read_relation(row: Stored) -> Relation:
    """From a row to a relation; raises `Damaged`."""
    return Relation(**_sound("relation", row))


def read_event(row: Stored) -> MemoryEvent:
    """From a row to an event; raises `Damaged`."""
    return MemoryEvent(**_checked("memory_event", EVENT, row))


@contextmanager
def damaged_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Read also texts that are not UTF-8 any more in the block: no checksum is theirs."""
    before = connection.text_factory
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    try:
        yield
    finally:
        connection.text_factory = before


def _sound(table: str, row: Stored) -> dict[str, Any]:
    """A row by its columns; raises `Damaged` where it is not as it was written."""
    columns = CHECKED[table]
    values = row[: len(columns)]
    check_row(table, tuple(values), row[len(columns)])
    return _checked(table, columns, values)


_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("importance", "valid_at", "invalid_at", "expired_at", "accessed_at"), float),
    **dict.fromkeys(("created_at", "at"), float),
    **dict.fromkeys(("success", "pinned", "trusted", "stale", "accesses", "start", "end"), int),
    "position": int,
    "hash": bytes,
}
"""Of columns that hold no text."""
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
    kinds: Sequence[tuple[str, Callable[[Stored], object]]] = (
        ("memory_source", read_source),
        ("memory", lambda row: read_memory(row, {})),
        ("entity", read_entity),
        ("mention", read_mention),
        ("relation", read_relation),
        ("memory_event", read_event),
    )
    with damaged_text(connection):
        for table, read in kinds:
            query = f"SELECT rowid, {', '.join(STORED[table])} FROM {table}"
            for number, *row in connection.execute(query).fetchall():
                try:
                    read(row)
                except Damaged:
                    connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))
