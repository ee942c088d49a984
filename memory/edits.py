"""What a user changes of a memory by its id: its words, its pin, a dispute, what its document no longer says.

Each change is decided on the memory as it is at that moment: another process may have forgotten it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memory import forgetting
from memory.deciding import agreed, resolved
from memory.extracting import secrets_in
from memory.forgetting import known_memory
from memory.ids import new_id
from memory.not_kept import left_out
from pipeline.errors import AthenaError
from pipeline.stores.memories import Action, Memory, MemoryChanges, MemoryEvent
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.index import UserIndex
    from memory.user_memory import UserMemory


def edit(of: UserMemory, memory_id: str, text: str) -> Memory:
    """Say it otherwise; its id stays, its old words are gone.

    Raises `AthenaError` for no words, secrets, static memory, and what another memory says already.
    """
    text = well_formed(text).strip()
    if not any(map(str.isalnum, text)):
        raise AthenaError("A memory cannot be empty.", "To remove it, use `athena memory forget`.")
    if found := secrets_in(text):
        raise AthenaError(left_out([str(found[0].kind)]), "Secrets are never kept: leave it out.")
    before = changeable(of, memory_id)
    rewording = of.remembering.rewording(text)
    (read,) = of.indexes.embedded([rewording.of(before)])

    def decide(index: UserIndex) -> tuple[MemoryChanges, Sequence[str]]:
        memory = known_memory(index, before.id)
        after = replace(rewording.of(memory), embedding=read.embedding, embedded_by=read.embedded_by)
        changes = rewording.changes(index, after, whole_graph=of.preset.graph)
        changes = replace(
            changes,
            events=(_event(of, "UPDATE", memory.id),),
            removed=forgetting.no_longer_named(index, memory, by=changes),
        )
        return changes, ()  # its old words are erased as what is replaced

    return of.indexes.erase(of.user, decide).memories[0]


def pin(of: UserMemory, memory_id: str, *, pinned: bool = True) -> Memory:
    """Keep it from being summarised, evicted or forgotten by age; or let it go again."""
    return _replaced(of, memory_id, "PIN", lambda memory: replace(memory, pinned=pinned))


def keep_stale(of: UserMemory, memory_id: str) -> Memory:
    """Keep what its document no longer says: it stands for itself from now on, without that source.

    Raises `AthenaError` where it is not stale.
    """

    def kept(memory: Memory) -> Memory:
        if not memory.stale:
            raise AthenaError(f"Memory '{memory_id}' is not stale.", "There is nothing to decide.")
        sources = tuple(source for source in memory.sources if not source.source)
        return replace(memory, stale=False, sources=sources)

    return _replaced(of, memory_id, "RESOLVE", kept)


def resolve(of: UserMemory, memory_id: str, *, believe: bool = True) -> None:
    """Decide a dispute: this side is right and the others were wrong, or only this one was wrong."""
    _settle(of, memory_id, partial(resolved, now=of.clock(), believe=believe))


def keep_both(of: UserMemory, memory_id: str) -> None:
    """Decide a dispute: all its sides are right."""
    _settle(of, memory_id, partial(agreed, now=of.clock()))


def _settle(of: UserMemory, memory_id: str, decided: Callable[[UserIndex, Memory], MemoryChanges]) -> None:
    """Write what `decided` makes of the dispute that a memory is a side of."""
    memory = of.get(memory_id)
    of.indexes.change(of.user, lambda index: decided(index, known_memory(index, memory.id)))


def changeable(of: UserMemory, memory_id: str) -> Memory:
    """One memory by its id; raises `AthenaError` for static memory, too."""
    memory = of.get(memory_id)
    if memory.tier == "static":
        raise AthenaError(
            f"Memory '{memory_id}' is static: it cannot be changed.",
            "Edit the persona's file, or forget it and import it again.",
        )
    return memory


def _replaced(of: UserMemory, memory_id: str, action: Action, change: Callable[[Memory], Memory]) -> Memory:
    """Write what `change` makes of a memory."""
    memory = changeable(of, memory_id)
    event = _event(of, action, memory.id)

    def decide(index: UserIndex) -> MemoryChanges:
        return MemoryChanges(memories=(change(known_memory(index, memory.id)),), events=(event,))

    return of.indexes.change(of.user, decide).memories[0]


def _event(of: UserMemory, action: Action, memory_id: str) -> MemoryEvent:
    return MemoryEvent(id=new_id(), user=of.user, memory_id=memory_id, action=action, at=of.clock())
