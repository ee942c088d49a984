"""Rows of memories as MongoDB's records, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, cast

from pipeline.stores.memories import (
    Entity,
    Memory,
    MemoryEvent,
    MemorySource,
    Mention,
    Relation,
    Row,
    UserMemories,
    text_hash,
)
from pipeline.stores.server.mongo import Document

KINDS: Mapping[str, type[Row]] = {
    "memory": Memory,
    "entity": Entity,
    "mention": Mention,
    "relation": Relation,
}


def key(user: str, id_: str | int) -> str:
    """The record's id for something of a user."""
    return json.dumps([user, id_], ensure_ascii=False)


def record_of(row: Row, version: int) -> Document:
    """A row as it is stored, as of a version."""
    kind = next(name for name, type_ in KINDS.items() if isinstance(row, type_))
    record: Document = {
        "_id": key(row.user, row.id),
        "user": row.user,
        "version": version,
        "gone": False,
        "kind": kind,
        "turns": sorted(turns_of(row)),
        "row": _stored(row),
    }
    if isinstance(row, Memory) and row.live:
        record |= {"live": live_key(row)}
    return record


def gone_record(user: str, id_: str, version: int) -> Document:
    """What stays of a removed row: that it is gone, so that a late writer does not write it again."""
    return {"_id": key(user, id_), "user": user, "version": version, "gone": True}


def live_key(memory: Memory) -> str:
    """What no two live memories of a user have alike."""
    return f"{memory.tier} {text_hash(memory.text).hex()}"


def turns_of(row: Row) -> set[str]:
    """The ids of the turns that a row names."""
    match row:
        case Memory():
            return {source.turn_id for source in row.sources} - {""}
        case Mention() | Relation():
            return {row.turn_id} - {""}
    return set()


def without_turns(row: Row, turns: Iterable[str]) -> Row:
    """The row naming none of these turns."""
    gone = set(turns)
    match row:
        case Memory():
            sources = (
                replace(source, turn_id="") if source.turn_id in gone else source for source in row.sources
            )
            return replace(row, sources=tuple(sources))
        case Mention() | Relation():
            return replace(row, turn_id="")
    return row


def row_of(record: Document) -> Row:
    """The row of a record; fields that this version does not know are left out."""
    kind, stored = KINDS[record["kind"]], dict(record["row"])
    if kind is Memory:
        sources = tuple(_known(MemorySource, source) for source in stored["sources"])
        stored |= {"sources": sources, "tags": tuple(stored["tags"])}
    if kind is Entity:
        stored |= {"aliases": tuple(stored["aliases"]), "attributes": json.loads(stored["attributes"])}
    return cast("Row", _known(kind, stored))


def user_memories(user: str, version: int, rows: Iterable[Row]) -> UserMemories:
    """The rows by kind, each in its order."""
    by_kind: dict[type, list[Any]] = {kind: [] for kind in KINDS.values()}
    for row in rows:
        by_kind[type(row)].append(row)
    return UserMemories(
        user=user,
        version=version,
        memories=tuple(sorted(by_kind[Memory], key=lambda row: (row.created_at, row.id))),
        entities=tuple(sorted(by_kind[Entity], key=lambda row: (row.name, row.id))),
        mentions=tuple(sorted(by_kind[Mention], key=lambda row: (row.at, row.id))),
        relations=tuple(sorted(by_kind[Relation], key=lambda row: (row.at, row.id))),
    )


def event_record(event: MemoryEvent, version: int, number: int) -> Document:
    """An event as it is stored; of one time, the order is that of versions."""
    stored = {field.name: getattr(event, field.name) for field in fields(event)}
    return {"_id": key(event.user, event.id), **stored, "version": version, "number": number}


def event_of(record: Document) -> MemoryEvent:
    """The event of a record."""
    return cast("MemoryEvent", _known(MemoryEvent, record))


def _stored(row: Row) -> Document:
    stored = {field.name: getattr(row, field.name) for field in fields(row)}
    if isinstance(row, Memory):
        sources = [
            {field.name: getattr(source, field.name) for field in fields(source)} for source in row.sources
        ]
        stored |= {"sources": sources, "tags": list(row.tags)}
    if isinstance(row, Entity):  # attributes may be named anything, a record's fields may not
        attributes = json.dumps(dict(row.attributes), ensure_ascii=False)
        stored |= {"aliases": list(row.aliases), "attributes": attributes}
    return stored


def _known(kind: type[Any], stored: Mapping[str, Any]) -> Any:
    return kind(**{field.name: stored[field.name] for field in fields(kind) if field.name in stored})
