"""Export and import of memories, and the static memories of a persona.

An export comes back with the same ids and times. An import is checked whole before any of it is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationInfo

from memory.guard import reads_as_instruction, without_secrets
from memory.ids import id_of, plain
from memory.keeping import refuse_long
from memory.shapes import TIMES
from pipeline.errors import AthenaError
from pipeline.stores.memories import Entity, Memory, MemoryChanges, Mention, Relation, plain_object
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.index import UserIndex
    from memory.user_memory import UserMemory

LATEST_S = 2**33  # in the year 2242
KINDS = ("memories", "entities", "mentions", "relations")


def _own(row: Any, info: ValidationInfo) -> Any:
    """Return a row of an export as a row of the importing user, without its vector."""
    if not isinstance(row, dict):
        return row
    for name in TIMES:
        value = row.get(name)
        if isinstance(value, int | float) and not 0 <= value <= LATEST_S:
            raise ValueError(f"{name} is no time")
    return {key: row[key] for key in row if not key.startswith("embed")} | {"user": info.context}


_T = TypeVar("_T")
_Rows = tuple[Annotated[_T, BeforeValidator(_own)], ...]


class _Export(BaseModel):
    athena_memories: Literal[1]
    memories: _Rows[Memory]
    entities: _Rows[Entity] = ()
    mentions: _Rows[Mention] = ()
    relations: _Rows[Relation] = ()


def export(user: UserMemory) -> str:
    """Return all rows as JSON that can be imported, without vectors; times in seconds since the epoch."""
    index = user.index
    with index.lock:
        rows = {name: [plain_object(row) for row in getattr(index, name).values()] for name in KINDS}
    return json.dumps({"athena_memories": 1, "user": user.user, **rows}, ensure_ascii=False, indent=1)


def imported(user: UserMemory, data: str) -> int:
    """Import an export; return the number of new memories. Raises `AthenaError` and writes nothing."""
    read = read_import(data, user=user.user)
    with user.index.lock:
        new = without_known(user.index, read)
    new = replace(new, memories=tuple(user.indexes.embedded(new.memories)))
    return len(user.indexes.change(user.user, partial(without_known, changes=new)).memories)


def read_import(data: str, *, user: str) -> MemoryChanges:
    """Return the rows of an export; raises `AthenaError` for anything else."""
    try:
        whole = json.loads(well_formed(json.dumps(json.loads(data), ensure_ascii=False)))
        export = _Export.model_validate(whole, context=user)
    except (ValueError, RecursionError) as error:
        why = " ".join(str(error).split()[:20])
        raise AthenaError(
            f"This is not an export of memories: {why}.", "Give a file of `athena memory export`."
        ) from error
    rows = {name: getattr(export, name) for name in KINDS}
    return MemoryChanges(**rows | {"memories": tuple(map(_guarded, export.memories))})


def _guarded(memory: Memory) -> Memory:
    """Return a memory without secrets; an instruction is not trusted. Raises `AthenaError` for a long one."""
    refuse_long(memory.text, f"Memory '{memory.id}'")
    refuse_long(memory.object, f"The object of memory '{memory.id}'")
    text, thing = without_secrets(memory.text), without_secrets(memory.object)
    trusted = memory.trusted and memory.tier != "static" and not reads_as_instruction(text)
    return replace(memory, text=text, object=thing, trusted=trusted)


def without_known(index: UserIndex, changes: MemoryChanges) -> MemoryChanges:
    """Return an import without rows whose id is known, and without live memories whose text is known."""
    texts = {plain(item.text) for item in index.memories.values() if item.live}
    new: dict[str, Memory] = {}  # by text, or by id where the memory has ended
    for memory in changes.memories:
        text = plain(memory.text)
        if memory.id not in index.memories and not (memory.live and text in texts):
            new.setdefault(text if memory.live else memory.id, memory)
    rows = {
        name: tuple(row for row in getattr(changes, name) if row.id not in getattr(index, name))
        for name in KINDS
    }
    return replace(changes, **rows | {"memories": tuple(new.values())})


# -- a persona -------------------------------------------------------------------------------------------


def static_of(persona: str, says: Mapping[str, Sequence[str]], *, user: str) -> tuple[Memory, ...]:
    """Return the static memories of a persona from its texts by tag, with the same ids each time."""
    return tuple(
        Memory(
            id=id_of("persona", persona, tag, text),
            user=user,
            text=text,
            tier="static",
            origin="system",
            tags=(tag,),
            importance=1.0,
            pinned=True,
            why="The assistant's persona says it.",
        )
        for tag, texts in says.items()
        for text in texts
        if text.strip()
    )
