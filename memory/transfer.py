"""Export and import: JSON with the same ids and times, and Markdown to read.

An import is checked whole before any of it is written. The JSON of vector stores (`documents`, `metadatas`,
`ids`) is read, too, as static memories.
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
from memory.times import FIRST_S, LAST_S, in_seconds, iso, local_day
from pipeline.errors import AthenaError, ConfigurationError
from pipeline.given_files import DATA_BYTES, read_given
from pipeline.stores.memories import Entity, Memory, MemoryChanges, MemoryEvent, Mention, Relation, Row
from pipeline.stores.memory_records import plain_object
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.index import UserIndex
    from memory.user_memory import UserMemory

FORMAT = 1
FIX = "Give an export of memories, or one with `documents`, `metadatas` and `ids`."
TIMES = ("created_at", "ended_at", "accessed_at", "at")


def _own(shape: Any, info: ValidationInfo) -> Any:
    """Return a row of an export with the fields of a record, as a row of the importing user."""
    if not isinstance(shape, dict):
        return shape
    values = {"created_at": None} | {
        key: value for key, value in shape.items() if not key.startswith("embed")
    }
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
    events: _Rows[MemoryEvent] = ()


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


def export(user: UserMemory, *, form: Literal["json", "markdown"] = "json") -> str:
    """Return all rows as JSON that can be imported, or the memories as Markdown; without vectors."""
    index = user.index
    with index.lock:
        if form == "markdown":
            return _markdown(index)
        whole = {
            "athena_memories": FORMAT,
            "user": user.user,
            "exported_at": iso(user.clock()),
            "memories": [_shape(memory) for memory in _in_order(index)],
            "entities": _shapes(index.entities.values()),
            "mentions": _shapes(index.mentions.values()),
            "relations": _shapes(index.relations.values()),
            "events": [_shape(item) for item in user.indexes.memories.events(user.user)],
        }
    return json.dumps(whole, ensure_ascii=False, indent=1)


def _markdown(index: UserIndex) -> str:
    """Return the live memories as a list, then the ended ones."""
    lines = [f"# What is remembered of {index.user}", ""]
    lines += [_line(memory) for memory in _in_order(index) if memory.live] or ["Nothing."]
    if past := [_line(memory) for memory in _in_order(index) if not memory.live]:
        lines += ["", "## No longer", "", *past]
    return "\n".join(lines) + "\n"


def read_import(data: str, *, user: str, now: float) -> MemoryChanges:
    """Return the rows of an export or of a vector store's JSON; raises `AthenaError` for others."""
    try:
        found = json.loads(well_formed(json.dumps(json.loads(data), ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise _not_an_export(f"it is not JSON ({error})") from error
    try:
        if isinstance(found, dict) and "documents" in found:
            return _static(_Collection.model_validate(found), user=user, now=now)
        export = _Export.model_validate(found, context=user)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise _not_an_export(f"{where}: {first['msg']}") from error
    rows = {name: getattr(export, name) for name in ("entities", "mentions", "relations", "events")}
    return MemoryChanges(memories=tuple(map(_guarded, export.memories)), **rows)


def _not_an_export(why: str) -> AthenaError:
    return AthenaError(f"This is not an export of memories: {why}.", FIX)


def without_known(changes: MemoryChanges, index: UserIndex) -> MemoryChanges:
    """Return an import without rows whose id is known, and without memories whose text is known and live."""
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


def imported(user: UserMemory, data: str) -> int:
    """Import an export; return the number of new memories. Raises `AthenaError` and writes nothing."""
    new = would_import(user, data)
    known = {event.id for event in user.indexes.memories.events(user.user)}
    events = tuple(event for event in new.events if event.id not in known)
    new = replace(new, memories=tuple(user.indexes.embedded(new.memories)), events=events)
    return len(user.indexes.change(user.user, partial(without_known, new)).memories)


def would_import(user: UserMemory, data: str) -> MemoryChanges:
    """Return what an import would add, without writing it; raises `AthenaError`."""
    index, read = user.index, read_import(data, user=user.user, now=user.clock())
    with index.lock:
        return without_known(read, index)


def _guarded(memory: Memory) -> Memory:
    """Return a memory without secrets; an instruction is not trusted."""
    refuse_long(memory.text, f"Memory '{memory.id}'")
    refuse_long(memory.object, f"The object of memory '{memory.id}'")
    text = without_secrets(memory.text)
    trusted = memory.trusted and (memory.tier == "static" or not reads_as_instruction(text))
    return replace(memory, text=text, object=without_secrets(memory.object), trusted=trusted)


def _static(found: _Collection, *, user: str, now: float) -> MemoryChanges:
    ids = found.ids or tuple(map(str, range(1, len(found.documents) + 1)))
    metadatas = found.metadatas or (None,) * len(ids)
    for given, text in zip(ids, found.documents, strict=True):
        refuse_long(text, f"Memory '{given}'")
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
    """Return the importance in a vector store's metadata: 0 to 1, or a rating of 1 to 10."""
    value = metadata.get("importance")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return min(1.0, max(0.0, value / 10 if value > 1 else float(value)))


def _in_order(index: UserIndex) -> list[Memory]:
    return sorted(index.memories.values(), key=lambda memory: (memory.created_at, memory.id))


def _shapes(rows: Iterable[Entity | Mention | Relation]) -> list[dict[str, Any]]:
    return [_shape(row) for row in sorted(rows, key=lambda row: row.id)]


def _shape(row: Row | MemoryEvent) -> dict[str, Any]:
    """Return a row without its user and its vector."""
    values = {key: value for key, value in plain_object(row).items() if key not in ("user", "embedded_by")}
    values |= {key: iso(values[key]) for key in TIMES if key in values}
    if isinstance(row, Memory):
        sources = values["sources"]
        values["sources"] = [{key: it[key] for key in it if it[key] not in ("", None)} for it in sources]
    return values


def _line(memory: Memory) -> str:
    ended = memory.ended_at is not None
    notes = [
        f"since {local_day(memory.created_at)}",
        f"until {local_day(memory.ended_at)}" if ended else "",
        "pinned" if memory.pinned else "",
        "" if memory.trusted else "not trusted",
    ]
    return f"- {' '.join(memory.text.split())} ({', '.join(filter(None, notes))})"


# -- a persona's static memories --------------------------------------------------------------------------

OF_PERSONA = "The assistant's persona says it."


def static_of(
    persona: str, says: Mapping[str, Sequence[str]], more: Path | None, *, user: str
) -> tuple[Memory, ...]:
    """Return the static memories of a persona, with the same ids each time: its texts by tag.

    `more` is a JSON file with `documents`, `metadatas` and `ids`; raises `ConfigurationError` for a bad one.
    """
    texts = tuple(
        Memory(
            id=id_of("persona", persona, tag, text),
            user=user,
            text=text,
            tier="static",
            origin="system",
            tags=(tag,),
            importance=1.0,
            pinned=True,
            why=OF_PERSONA,
            predicate=tag,
        )
        for tag, texts in says.items()
        for text in texts
    )
    if more is None:
        return texts
    try:
        read = read_import(read_given(more, most_bytes=DATA_BYTES), user=user, now=0.0).memories
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"ATHENA_PERSONA: cannot read its memories '{more}': {error}.", "Check `memories` in its file."
        ) from error
    return (*texts, *(replace(memory, why=OF_PERSONA, pinned=True) for memory in read))
