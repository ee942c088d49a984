"""Export and import: JSON that comes back with the same ids and times, Markdown to read.

An import is checked whole before anything of it is written. The JSON of vector stores (`documents`,
`metadatas`, `ids`) is read, too: as static memories.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from memory.extracting import reads_as_instruction, without_secrets
from memory.ids import id_of
from memory.index import plain
from memory.shapes import memory_shape
from memory.times import FIRST_S, LAST_S, in_seconds, iso, known_begin, local_day
from pipeline.errors import AthenaError
from pipeline.stores.memories import (
    Category,
    Entity,
    Kind,
    Memory,
    MemoryChanges,
    MemoryEvent,
    MemorySource,
    Mention,
    Origin,
    Relation,
    Tier,
)
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.index import UserIndex
    from memory.indexes import Indexes

FORMAT = 1
FIX = "Give a file that `athena memory export` wrote, or one with `documents`, `metadatas` and `ids`."


MOST = 2**63 - 1  # what stores keep as a whole number
Number = Annotated[int, Field(ge=0, le=MOST)]
Time = datetime | Annotated[float, Field(ge=FIRST_S, le=LAST_S, allow_inf_nan=False)]


class _Source(BaseModel):
    model_config = ConfigDict(extra="ignore")
    turn_id: str = ""
    source: str = ""
    memory_id: str = ""
    part: Literal["question", "answer"] = "question"
    start: Number = 0
    end: Number = 0
    quote: str = ""
    file_hash: str = ""


class _Memory(BaseModel):
    model_config = ConfigDict(extra="ignore")
    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    kind: Kind = "fact"
    tier: Tier = "long_term"
    category: Category = "general"
    tags: tuple[str, ...] = ()
    importance: float | None = Field(None, ge=0, le=1)
    pinned: bool = False
    trusted: bool = True
    stale: bool = False
    dispute: str = ""
    valid_at: Time | None = None
    invalid_at: Time | None = None
    created_at: Time
    expired_at: Time | None = None
    accessed_at: Time | None = None
    accesses: Number = 0
    sources: tuple[_Source, ...] = ()
    why: str = ""
    origin: Origin = "user"
    subject: str = ""
    predicate: str = ""
    object: str = ""
    success: bool | None = None

    def row(self, user: str) -> Memory:
        values = {name: getattr(self, name) for name in type(self).model_fields if name != "dispute"}
        values["sources"] = tuple(MemorySource(**source.model_dump()) for source in self.sources)
        for name in ("valid_at", "invalid_at", "created_at", "expired_at", "accessed_at"):
            values[name] = _seconds(values[name])
        return Memory(user=user, disputed=self.dispute, **values)


class _Event(BaseModel):
    model_config = ConfigDict(extra="ignore")
    id: str
    memory_id: str
    action: str
    at: Time
    other_id: str = ""


class _Export(BaseModel):
    athena_memories: Literal[1]
    memories: tuple[_Memory, ...]
    entities: tuple[dict[str, Any], ...] = ()
    mentions: tuple[dict[str, Any], ...] = ()
    relations: tuple[dict[str, Any], ...] = ()
    events: tuple[_Event, ...] = ()


class _Collection(BaseModel):
    documents: tuple[str, ...]
    metadatas: tuple[dict[str, Any] | None, ...] = ()
    ids: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _as_many(self) -> _Collection:
        for name in ("metadatas", "ids"):
            given = getattr(self, name)
            if given and len(given) != len(self.documents):
                raise ValueError(f"{len(given)} {name} for {len(self.documents)} documents")
        return self


def export_json(index: UserIndex, events: Sequence[MemoryEvent], *, now: float) -> str:
    """All rows of a user as JSON; vectors are left out, as an import makes them again."""
    return json.dumps(
        {
            "athena_memories": FORMAT,
            "user": index.user,
            "exported_at": iso(now),
            "memories": [_whole(memory) for memory in _in_order(index)],
            "entities": [
                {
                    "id": item.id,
                    "name": item.name,
                    "type": item.type,
                    "aliases": list(item.aliases),
                    "attributes": dict(item.attributes),
                }
                for item in sorted(index.entities.values(), key=lambda item: item.id)
            ],
            "mentions": [_plain(item) for item in sorted(index.mentions.values(), key=lambda item: item.id)],
            "relations": [
                _plain(item) for item in sorted(index.relations.values(), key=lambda item: item.id)
            ],
            "events": [_plain(item) for item in events],
        },
        ensure_ascii=False,
        indent=1,
    )


def export_markdown(index: UserIndex) -> str:
    """What is remembered as Markdown, the current before the past."""
    lines = [f"# What is remembered of {index.user}", ""]
    current = [memory for memory in _in_order(index) if memory.live]
    past = [memory for memory in _in_order(index) if not memory.live]
    lines += [_line(memory) for memory in current] or ["Nothing."]
    if past:
        lines += ["", "## No longer", "", *map(_line, past)]
    return "\n".join(lines) + "\n"


def read_import(data: str, *, user: str, now: float) -> MemoryChanges:
    """The rows of an export, or of a vector store's JSON; raises `AthenaError` for anything else."""
    try:
        found = json.loads(well_formed(json.dumps(json.loads(data), ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise _not_an_export(f"it is not JSON ({error})") from error
    try:
        if isinstance(found, dict) and "documents" in found:
            return _static(_Collection.model_validate(found), user=user, now=now)
        export = _Export.model_validate(found)
        return _rows(export, user=user)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise _not_an_export(f"{where}: {first['msg']}") from error
    except (OverflowError, ValueError) as error:
        raise _not_an_export(f"a time cannot be read ({error})") from error


def _not_an_export(why: str) -> AthenaError:
    return AthenaError(f"This is not an export of memories: {why}.", FIX)


def static_memories(data: str, *, user: str, now: float) -> tuple[Memory, ...]:
    """The static memories of a vector store's JSON."""
    return read_import(data, user=user, now=now).memories


def without_known(changes: MemoryChanges, index: UserIndex) -> MemoryChanges:
    """An import without what is there already, as it is or changed: the same id, or the same words, live."""
    known = set(index.memories)
    live = {plain(item.text) for item in index.memories.values() if item.live}
    kept = []
    for memory in changes.memories:
        words = plain(memory.text)
        if memory.id in known or (memory.live and words in live):
            continue
        kept.append(memory)
        known.add(memory.id)
        if memory.live:
            live.add(words)
    return replace(
        changes,
        memories=tuple(kept),
        entities=tuple(item for item in changes.entities if item.id not in index.entities),
        mentions=tuple(item for item in changes.mentions if item.id not in index.mentions),
        relations=tuple(item for item in changes.relations if item.id not in index.relations),
    )


def imported(data: str, *, indexes: Indexes, user: str, now: float) -> int:
    """Take in an export; the number of memories that were new. Nothing is written of a bad one."""
    read = read_import(data, user=user, now=now)
    index = indexes.of(user)
    with index.lock:
        read = without_known(read, index)
    known = {event.id for event in indexes.memories.events(user)}
    read = replace(
        read,
        memories=tuple(indexes.embedded(read.memories)),
        events=tuple(event for event in read.events if event.id not in known),
    )
    return len(indexes.change(user, partial(without_known, read)).memories)


def _rows(export: _Export, *, user: str) -> MemoryChanges:
    return MemoryChanges(
        memories=tuple(_guarded(memory.row(user)) for memory in export.memories),
        entities=_typed(Entity, export.entities, user),
        mentions=_typed(Mention, export.mentions, user),
        relations=_typed(Relation, export.relations, user),
        events=tuple(
            TypeAdapter(MemoryEvent).validate_python(
                {**event.model_dump(), "at": _seconds(event.at), "user": user}
            )
            for event in export.events
        ),
    )


def _guarded(memory: Memory) -> Memory:
    """A memory as it would have been kept here: without secrets, and an instruction is not trusted."""
    text = without_secrets(memory.text)
    trusted = memory.trusted and (memory.tier == "static" or not reads_as_instruction(text))
    return replace(memory, text=text, object=without_secrets(memory.object), trusted=trusted)


def _typed(kind: Any, rows: Sequence[Mapping[str, Any]], user: str) -> Any:
    adapter = TypeAdapter(kind)
    read = []
    for row in rows:
        values = {**row, "user": user}
        if "at" in values:
            values["at"] = _seconds(TypeAdapter(Time).validate_python(values["at"]))
        read.append(adapter.validate_python(values))
    return tuple(read)


def _static(found: _Collection, *, user: str, now: float) -> MemoryChanges:
    ids = found.ids or tuple(map(str, range(1, len(found.documents) + 1)))
    metadatas = found.metadatas or (None,) * len(ids)
    memories = tuple(
        Memory(
            id=id_of(user, "static", given),
            user=user,
            text=text,
            tier="static",
            origin="system",
            importance=_importance(metadata or {}),
            tags=(given, *(f"{key}={value}" for key, value in sorted((metadata or {}).items()))),
            why="It was imported as static memory.",
            created_at=now,
        )
        for given, text, metadata in zip(ids, found.documents, metadatas, strict=True)
        if text.strip()
    )
    return MemoryChanges(memories=memories)


def _importance(metadata: Mapping[str, Any]) -> float | None:
    """As it is given: 0 to 1, or a rating to 10."""
    value = metadata.get("importance")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return min(1.0, max(0.0, value / 10 if value > 1 else float(value)))


def _in_order(index: UserIndex) -> list[Memory]:
    return sorted(index.memories.values(), key=lambda memory: (memory.created_at, memory.id))


def _whole(memory: Memory) -> dict[str, Any]:
    """A memory with all that an import needs to make it again."""
    shape = memory_shape(memory)
    sources = [
        {name: value for name in source.__slots__ if (value := getattr(source, name)) not in ("", None)}
        for source in memory.sources
    ]
    return {
        **shape,
        "sources": sources,
        "dispute": memory.disputed,
        "accessed_at": iso(memory.accessed_at),
        "accesses": memory.accesses,
        "success": memory.success,
    }


def _plain(item: Mention | Relation | MemoryEvent) -> dict[str, Any]:
    values = {name: getattr(item, name) for name in item.__slots__ if name != "user"}
    return {**values, "at": iso(item.at)}


def _line(memory: Memory) -> str:
    notes = [
        memory.category,
        f"since {local_day(since)}" if (since := known_begin(memory)) is not None else "",
        f"until {local_day(memory.invalid_at)}" if memory.invalid_at is not None else "",
        *(name for name in ("pinned", "stale") if getattr(memory, name)),
        "disputed" if memory.disputed else "",
        "" if memory.trusted else "not trusted",
    ]
    return f"- {' '.join(memory.text.split())} ({', '.join(filter(None, notes))})"


def _seconds(value: datetime | float | None) -> float | None:
    return in_seconds(value) if isinstance(value, datetime) else value
