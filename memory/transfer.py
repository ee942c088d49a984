"""Export and import of memories, and the static memories of a persona.

An export comes back with the same ids and times. An import is checked whole before any of it is written. The
JSON of vector stores (`documents`, `metadatas`, `ids`) is imported as static memories.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError, ValidationInfo, model_validator

from memory.guard import reads_as_instruction, without_secrets
from memory.ids import id_of, plain
from memory.keeping import refuse_long
from memory.shapes import TIMES, Shape, memory_shape
from memory.times import FIRST_S, LAST_S, in_seconds, iso
from pipeline.errors import AthenaError, ConfigurationError
from pipeline.given_files import DATA_BYTES, read_given
from pipeline.stores.memories import Entity, Memory, MemoryChanges, Mention, Relation
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.index import UserIndex
    from memory.user_memory import UserMemory

FIX = "Give an export of memories, or one with `documents`, `metadatas` and `ids`."
OF_PERSONA = "The assistant's persona says it."
KINDS = ("entities", "mentions", "relations")


def _own(row: Any, info: ValidationInfo) -> Any:
    """Return a row of an export with the fields of a record, as a row of the importing user."""
    if not isinstance(row, dict):
        return row
    values = {"created_at": None} | {key: row[key] for key in row if not key.startswith("embed")}
    values |= {key: _seconds(values[key]) for key in TIMES if key in values}
    return values | {"user": info.context}


def _seconds(time: object) -> object:
    """Return a time in seconds since the epoch, from these or from ISO 8601; raises ValueError."""
    if isinstance(time, int | float) and not FIRST_S <= time <= LAST_S:
        raise ValueError(f"{time} is no time")
    try:
        return in_seconds(datetime.fromisoformat(time)) if isinstance(time, str) else time
    except OverflowError as error:
        raise ValueError(f"{time} is beyond the calendar") from error


_T = TypeVar("_T")
_Rows = tuple[Annotated[_T, BeforeValidator(_own)], ...]


class _Export(BaseModel):
    athena_memories: Literal[1]
    memories: _Rows[Memory]
    entities: _Rows[Entity] = ()
    mentions: _Rows[Mention] = ()
    relations: _Rows[Relation] = ()


class _Collection(BaseModel):
    documents: tuple[str, ...]
    metadatas: tuple[dict[str, Any] | None, ...] = ()
    ids: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _as_many(self) -> _Collection:
        if any(given and len(given) != len(self.documents) for given in (self.metadatas, self.ids)):
            raise ValueError("documents, metadatas and ids are not equally many")
        return self


def export(user: UserMemory) -> str:
    """Return all rows as JSON that can be imported, without vectors."""
    index = user.index
    with index.lock:
        memories = list(index.memories.values())
        rows = {name: _shapes(getattr(index, name).values()) for name in KINDS}
    whole = {"athena_memories": 1, "user": user.user, "exported_at": iso(user.clock())}
    whole |= {"memories": [memory_shape(item) for item in memories], **rows}
    return json.dumps(whole, ensure_ascii=False, indent=1)


def _shapes(rows: Iterable[Entity | Mention | Relation]) -> list[Shape]:
    return [memory_shape(row) for row in sorted(rows, key=lambda row: row.id)]


def read_import(data: str, *, user: str, now: float) -> MemoryChanges:
    """Return the rows of an export or of a vector store's JSON; raises `AthenaError` for others."""
    try:
        found = json.loads(well_formed(json.dumps(json.loads(data), ensure_ascii=False)))
        if isinstance(found, dict) and "documents" in found:
            return _static(_Collection.model_validate(found), user=user, now=now)
        export = _Export.model_validate(found, context=user)
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
        raise AthenaError(f"This is not an export of memories: {why}.", FIX) from error
    except (ValueError, RecursionError) as error:
        raise AthenaError(f"This is not an export of memories: it is not JSON ({error}).", FIX) from error
    rows = {name: getattr(export, name) for name in KINDS}
    return MemoryChanges(memories=tuple(map(_guarded, export.memories)), **rows)


def _guarded(memory: Memory) -> Memory:
    """Return a memory without secrets; an instruction is not trusted."""
    refuse_long(memory.text, f"Memory '{memory.id}'")
    refuse_long(memory.object, f"The object of memory '{memory.id}'")
    text = without_secrets(memory.text)
    trusted = memory.trusted and (memory.tier == "static" or not reads_as_instruction(text))
    return replace(memory, text=text, object=without_secrets(memory.object), trusted=trusted)


def _static(found: _Collection, *, user: str, now: float) -> MemoryChanges:
    """Return the static memories of a vector store's JSON."""
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
    for memory in memories:
        refuse_long(memory.text, f"Memory '{memory.tags[0]}'")
    return MemoryChanges(memories=memories)


def _importance(metadata: Mapping[str, Any]) -> float | None:
    """Return the importance in a vector store's metadata: 0 to 1, or a rating of 1 to 10."""
    value = metadata.get("importance")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return min(1.0, max(0.0, value / 10 if value > 1 else float(value)))


def without_known(changes: MemoryChanges, index: UserIndex) -> MemoryChanges:
    """Return an import without rows whose id is known, and without live memories whose text is known."""
    known, kept = set(index.memories), []
    live = {plain(item.text) for item in index.memories.values() if item.live}
    for memory in changes.memories:
        if memory.id in known or (memory.live and plain(memory.text) in live):
            continue
        kept.append(memory)
        known.add(memory.id)
        live |= {plain(memory.text)} if memory.live else set()
    new = {
        name: tuple(it for it in getattr(changes, name) if it.id not in getattr(index, name))
        for name in KINDS
    }
    return replace(changes, memories=tuple(kept), **new)


def would_import(user: UserMemory, data: str) -> MemoryChanges:
    """Return what an import would add, without writing it; raises `AthenaError`."""
    index, read = user.index, read_import(data, user=user.user, now=user.clock())
    with index.lock:
        return without_known(read, index)


def imported(user: UserMemory, data: str) -> int:
    """Import an export; return the number of new memories. Raises `AthenaError` and writes nothing."""
    new = would_import(user, data)
    new = replace(new, memories=tuple(user.indexes.embedded(new.memories)))
    return len(user.indexes.change(user.user, partial(without_known, new)).memories)


def static_of(
    persona: str, says: Mapping[str, Sequence[str]], more: Path | None, *, user: str
) -> tuple[Memory, ...]:
    """Return the static memories of a persona, with the same ids each time: its texts by tag.

    `more` is a JSON file with `documents`, `metadatas` and `ids`; raises `ConfigurationError` for a bad one.
    """
    own = tuple(
        Memory(id=id_of("persona", persona, tag, text), user=user, text=text, tags=(tag,), importance=1.0)
        for tag, texts in says.items()
        for text in texts
    )
    try:
        read = read_import(read_given(more, most_bytes=DATA_BYTES), user=user, now=0.0) if more else None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"ATHENA_PERSONA: cannot read its memories '{more}': {error}.", "Check `memories` in its file."
        ) from error
    every = (*own, *(read.memories if read else ()))
    return tuple(replace(it, tier="static", origin="system", pinned=True, why=OF_PERSONA) for it in every)
