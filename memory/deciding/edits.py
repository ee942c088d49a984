"""What a user changes of a memory by its id: its words, its pin, a dispute, what its document no longer says.

Each change is decided on the memory as it is at that moment: another process may have forgotten it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.deciding import forgetting
from memory.deciding.decisions import settle, sides_of
from memory.deciding.forgetting import known_memory
from memory.deciding.heard import left_out, refuse_long
from memory.deciding.naming import merged, named
from memory.deciding.writing import Writing
from memory.reading.guard import secrets_in
from memory.times import begun
from pipeline.errors import AthenaError
from pipeline.steps.records import Step, ids_of
from pipeline.stores.memories import TOLD_BY, Action, Memory, MemoryChanges
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.recalling.user_index import UserIndex
    from memory.user_memory import UserMemory


def edit(of: UserMemory, memory_id: str, text: str) -> Memory:
    """Say it otherwise; its id stays, its old words are gone.

    Raises `AthenaError` for no words, too many, secrets, static memory, and what another memory says already.
    """
    text = well_formed(text).strip()
    if not any(map(str.isalnum, text)):
        raise AthenaError("A memory cannot be empty.", "To be rid of it, forget it.")
    refuse_long(text)
    if found := secrets_in(text):
        raise AthenaError(left_out([str(found[0].kind)]), "Secrets are never kept: leave it out.")
    before = changeable(of, memory_id)
    heard, (read, statement) = of.remembering.rewording(text)
    (read,) = of.indexes.embedded([replace(read, text=text)])
    names = ("text", "subject", "predicate", "object", "trusted", "embedding", "embedded_by")
    reworded = {name: getattr(read, name) for name in names}
    statement = replace(statement, start=0, end=len(text))

    def decide(index: UserIndex) -> tuple[MemoryChanges, Sequence[str]]:
        memory = known_memory(index, before.id)
        after = replace(memory, stale=False, **reworded)
        if after.live and (twin := _twin(index, after)):
            raise AthenaError(
                f"That is remembered already: “{twin.text}”.", "To keep it once, forget one of them."
            )
        new = named(index, heard, kept=[(after, statement)], whole=of.preset.depth > 0)
        gone = forgetting.no_longer_named(index, memory, by=new)
        writing = Writing(of.clock())
        writing.write("UPDATE", after)
        written = writing.changes
        changes = replace(new, memories=written.memories, events=written.events, removed=gone)
        return changes, ()  # its old words are erased as what is replaced

    return of.indexes.erase(of.user, decide).memories[0]


def pin(of: UserMemory, memory_id: str, *, pinned: bool = True) -> Memory:
    """Keep it from being summarised, evicted or forgotten by age; or let it go again."""
    return _replaced(of, memory_id, "PIN", lambda memory: replace(memory, pinned=pinned))


def label(of: UserMemory, memory_id: str, *, tags: Iterable[str], told_by: str) -> Memory:
    """Give it more tags, and say where somebody who is not the user has it from."""
    added = [tag for given in tags if (tag := " ".join(well_formed(given).split()))]
    why = " ".join(well_formed(told_by).split())

    def labelled(memory: Memory) -> Memory:
        tags = tuple(dict.fromkeys((*memory.tags, *added)))
        return replace(memory, tags=tags, why=f"{TOLD_BY}{why}" if why else memory.why)

    return _replaced(of, memory_id, "UPDATE", labelled)


def supersede(of: UserMemory, memory_id: str, text: str) -> tuple[Memory, Memory]:
    """Keep what is true from now on in the place of a memory, which becomes history; the new and the old.

    Raises `AthenaError` where it is history already, and where it says that itself.
    """
    old = changeable(of, memory_id)
    if not old.live:
        raise AthenaError(f"Memory '{memory_id}' is history already.", "Remember the new one.")
    step = of.add(text) if text.strip() != old.text else None
    said = ids_of(step, "added", "known", "touched") if step else []
    if not (kept := next((known for known in said if known != old.id), "")):
        raise AthenaError(f"Memory '{memory_id}' says that already.", "To word it otherwise, edit it.")

    def decide(index: UserIndex, writing: Writing) -> None:
        memory, new = known_memory(index, old.id), known_memory(index, kept)
        if memory.live:
            over = replace(memory, disputed="", invalid_at=writing.now, expired_at=writing.now)
            writing.write("INVALIDATE", over, other=new.id)
            sides = {side.id for side in sides_of(index, new)}
            if sides and sides <= {memory.id, new.id}:
                writing.write("RESOLVE", replace(new, disputed=""), other=memory.id)

    changed(of, decide)
    return of.get(kept), of.get(old.id)


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


def resolve(of: UserMemory, memory_id: str, *, believe: bool | None = True) -> None:
    """Decide a dispute: this side is right and the others are not, only this one is wrong, or (None) none."""
    known = of.get(memory_id).id
    changed(of, lambda index, writing: settle(writing, index, known_memory(index, known), believe=believe))


def contradict(of: UserMemory, memory_id: str, other_id: str) -> None:
    """Say that two memories contradict each other: both stay, disputed, until that is decided.

    Raises `AthenaError` where they are one, or one of them is over.
    """
    one, other = changeable(of, memory_id), changeable(of, other_id)
    if one.id == other.id:
        raise AthenaError("A memory cannot contradict itself.", "Choose another one.")

    def decide(index: UserIndex, writing: Writing) -> None:
        both = [known_memory(index, known.id) for known in (one, other)]
        if not all(memory.live for memory in both):
            raise AthenaError(
                "One of them is not true any more: there is nothing to decide.", "Choose another."
            )
        groups = {memory.disputed for memory in both} - {""}
        sides = [memory for memory in index.memories.values() if memory.disputed in groups]
        writing.dispute({memory.id: memory for memory in (*sides, *both)}.values())

    changed(of, decide)


def undo_replacement(of: UserMemory, memory_id: str) -> None:
    """Take back that a memory took the place of others: these hold again, and it was wrong.

    Where it was known before them, as a side of their dispute, all of them are disputed again. Raises
    `AthenaError` where it took nobody's place.
    """
    new = changeable(of, memory_id)
    was_a_side = any(event.action == "RESOLVE" for event in of.history(new.id))

    def decide(index: UserIndex, writing: Writing) -> None:
        made = known_memory(index, new.id)
        restored = [
            replace(old, valid_at=old.valid_at or None, invalid_at=None, expired_at=None)
            for old in of.replaced_by(made.id)
            if not old.live
        ]
        if not restored:
            raise AthenaError("It took the place of nothing.", "There is nothing to undo.")
        if any(_twin(index, old) for old in restored):
            raise AthenaError("What it replaced was said again: that is kept.", "Forget one of them.")
        if was_a_side:
            writing.dispute([*restored, made])
            return
        wrong = replace(made, disputed="", invalid_at=begun(made), expired_at=writing.now)
        writing.write("INVALIDATE", wrong, other=restored[0].id)
        for old in restored:
            writing.write("RESOLVE", old)

    changed(of, decide)


def keep_said(of: UserMemory, turn_id: str) -> Step:
    """Keep what was said as a fact, as if it had been asked for; raises `AthenaError` where it cannot be."""
    turn = of.said([turn_id]).get(turn_id)
    if turn is None:
        raise AthenaError("That message was deleted.", "There is nothing to keep.")
    refuse_long(turn.text)
    step = of.remembering.keep_turn(turn)
    if secrets := step.data["secrets"]:
        raise AthenaError(left_out(secrets), "Secrets are never kept.")
    return step


def merge_entities(of: UserMemory, entity_id: str, other_id: str) -> None:
    """Let two entities be one, which keeps the first one's name: the other's names lead to it, too.

    Raises `AthenaError` where they are one already, or one of them is gone.
    """
    if entity_id == other_id:
        raise AthenaError("That is the same one already.", "Choose another one.")
    of.indexes.change(of.user, lambda index: merged(index, entity_id, other_id))


def _twin(index: UserIndex, memory: Memory) -> Memory | None:
    """Another live memory of the same tier and text: a store keeps no two of them."""
    same = index.with_text(memory.text)
    return next((one for one in same if one.live and one.tier == memory.tier and one.id != memory.id), None)


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
    known = changeable(of, memory_id).id
    return changed(of, lambda index, writing: writing.write(action, change(known_memory(index, known))))[0]


def changed(of: UserMemory, decide: Callable[[UserIndex, Writing], None]) -> Sequence[Memory]:
    """What is written once it is decided on the memories as they are at that moment."""

    def written(index: UserIndex) -> MemoryChanges:
        writing = Writing(of.clock())
        decide(index, writing)
        return writing.changes

    return of.indexes.change(of.user, written).memories
