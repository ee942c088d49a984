"""Export and import of memories.

An import restores ids and times of the export; it is checked as a whole before anything is written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ValidationInfo

from memory.entities import normalised
from memory.graph import Naming
from memory.guard import reads_as_instruction, without_secrets
from memory.keeping import MOST_CHARACTERS
from pipeline.errors import AthenaError
from pipeline.stores.memories import Memory, MemoryChanges, plain_object
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.index import UserIndex
    from memory.user_memory import UserMemory

LATEST_S = 2**33  # latest time that an import may have: in the year 2242


def _own(row: Any, info: ValidationInfo) -> Any:
    """Return an exported memory as the importing user's, without a vector, or raise `ValueError`."""
    if not isinstance(row, dict):
        return row
    for name in ("created_at", "ended_at", "accessed_at"):
        value = row.get(name)
        if isinstance(value, int | float) and not 0 <= value <= LATEST_S:
            raise ValueError(f"{name} is not a valid time")
    if any(len(str(row.get(name))) > MOST_CHARACTERS for name in ("text", "object")):
        raise ValueError(f"a memory has more than {MOST_CHARACTERS:,} characters")
    return {key: row[key] for key in row if not key.startswith("embed")} | {"user": info.context}


class _Export(BaseModel):
    athena_memories: Literal[1]
    memories: tuple[Annotated[Memory, BeforeValidator(_own)], ...]


def export(user: UserMemory) -> str:
    """Return all memories as JSON that can be imported, without vectors; times in seconds since the epoch.

    Entities and relations are left out: the import finds them in the memories' texts again.
    """
    index = user.index
    with index.lock:
        rows = [plain_object(memory) for memory in index.memories.values()]
    whole = {"athena_memories": 1, "user": user.user, "memories": rows}
    return json.dumps(whole, ensure_ascii=False, indent=1)


def imported(user: UserMemory, data: str) -> int:
    """Import an export; return the number of new memories. If it raises `AthenaError`, nothing is written."""
    read = user.indexes.embedded(read_import(data, user=user.user))

    def decide(index: UserIndex) -> MemoryChanges:
        new, names = _without_known(index, read), Naming(index=index, at=0.0)
        for memory in new:
            names.at = memory.created_at
            names.add_memories([memory])
        return names.changed(MemoryChanges(memories=new))

    return len(user.indexes.change(user.user, decide).memories)


def read_import(data: str, *, user: str) -> list[Memory]:
    """Return the memories of an export, with secrets masked; raises `AthenaError` for anything else."""
    try:
        whole = json.loads(well_formed(json.dumps(json.loads(data), ensure_ascii=False)))
        export = _Export.model_validate(whole, context=user)
    except (ValueError, RecursionError) as error:
        why = " ".join(str(error).split()[:20])
        raise AthenaError(
            f"This is not an export of memories: {why}.", "Use a file from `athena memory export`."
        ) from error
    return [_guarded(memory) for memory in export.memories]


def _guarded(memory: Memory) -> Memory:
    """Return a memory with all secrets masked; it is not trusted if it reads as an instruction."""
    words = ("text", "why", "subject", "predicate", "object")
    masked: dict[str, Any] = {name: without_secrets(getattr(memory, name)) for name in words}
    masked["sources"] = tuple(replace(one, quote=without_secrets(one.quote)) for one in memory.sources)
    return replace(memory, **masked, trusted=memory.trusted and not reads_as_instruction(masked["text"]))


def _without_known(index: UserIndex, memories: Sequence[Memory]) -> tuple[Memory, ...]:
    """Return the memories whose id, and for live ones also text, is not in the index; each once."""
    texts = {normalised(item.text) for item in index.memories.values() if item.live}
    new: dict[str, Memory] = {}  # by text, or by id where the memory has ended
    for memory in memories:
        text = normalised(memory.text)
        if memory.id not in index.memories and not (memory.live and text in texts):
            new.setdefault(text if memory.live else memory.id, memory)
    return tuple(new.values())
