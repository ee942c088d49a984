"""Forgetting: what goes, what goes along, and what is overwritten where it was said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.ids import ANSWER, new_id
from memory.reading.entities import normalised
from pipeline.analysis import analyse
from pipeline.errors import AthenaError, UnknownMemory
from pipeline.stores.memories import Entity, Memory, MemoryChanges, MemoryEvent, Mention, Relation
from pipeline.terms import content_terms

if TYPE_CHECKING:
    from memory.recalling.turn_index import Turn
    from memory.recalling.user_index import UserIndex

DAY_S = 86_400.0
SHORT_ID = 8  # letters of an id that may stand for it


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What would be forgotten: what was meant, what was made of it, what cannot be read, what was said."""

    meant: tuple[Memory, ...] = ()
    derived: tuple[Memory, ...] = ()
    damaged: tuple[str, ...] = ()  # ids
    turns: tuple[Turn, ...] = ()  # what was said, and goes with its answers
    unfound: tuple[str, ...] = ()  # ids of stored turns that go along, though nothing is found of them
    everything: bool = False  # the graph goes, too

    def __bool__(self) -> bool:
        return bool(self.meant or self.derived or self.damaged or self.turns)

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """The ids of the stored turns that go."""
        return tuple(dict.fromkeys(turn.id.removesuffix(ANSWER) for turn in self.turns))

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All of it that can be read."""
        return (*self.meant, *self.derived)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all of it."""
        return (*(memory.id for memory in self.memories), *self.damaged)

    @property
    def words(self) -> tuple[str, ...]:
        """What is overwritten in the turns that it came from: the quoted words, the longest first."""
        said = {source.quote for memory in self.memories for source in memory.sources if source.turn_id} | {
            memory.text for memory in self.memories if memory.origin == "user"
        }
        return tuple(sorted((text for text in said if text.strip()), key=lambda text: (-len(text), text)))


def forgetting(index: UserIndex, ids: Iterable[str]) -> Forgetting:
    """What forgetting these ids would take along; raises `AthenaError` for an unknown one."""
    given = tuple(dict.fromkeys(ids))
    damaged = tuple(known for known in given if known in index.damaged)
    meant = [known_memory(index, memory_id) for memory_id in given if memory_id not in damaged]
    gone = {memory.id for memory in meant}
    derived: list[Memory] = []
    while made := [
        memory
        for memory in index.memories.values()
        if memory.id not in gone and any(source.memory_id in gone for source in memory.sources)
    ]:
        derived += made
        gone |= {memory.id for memory in made}
    return Forgetting(tuple(meant), tuple(derived), damaged)


def known_memory(index: UserIndex, memory_id: str) -> Memory:
    """The memory of an id, or of the beginning of one; raises `AthenaError` for none and for several."""
    if memory := index.memories.get(memory_id):
        return memory
    if memory_id in index.damaged:
        raise AthenaError(
            f"Memory '{memory_id}' is damaged: it cannot be read.",
            "Put back a copy of the data folder, or forget it.",
        )
    found = [known for known in list(index.memories) if memory_id and known.startswith(memory_id)]
    if len(found) == 1 and len(memory_id) >= SHORT_ID:
        return index.memories[found[0]]
    raise UnknownMemory(
        f"No memory '{memory_id}' is kept of '{index.user}'.", "It may have been forgotten: look at the list."
    )


def nearest_in_words(query: str, found: Sequence[Memory]) -> list[str]:
    """The ids of those that share the most of a query's words; of all where none shares any."""
    wanted = set(content_terms(query))
    shared = [len(wanted.intersection(analyse(memory.text))) for memory in found]
    most = max(shared, default=0)
    return [memory.id for memory, count in zip(found, shared, strict=True) if count == most]


def named_by(index: UserIndex, memories: Sequence[Memory], *, said: Collection[str] = ()) -> set[str]:
    """The ids of mentions and relations that memories made, and of the entities that nothing else names.

    Of the turns that were `said`, by id, it is all of them.
    """
    gone = {memory.id for memory in memories}
    turns = {source.turn_id for memory in memories for source in memory.sources} - {""}
    text = " ".join(normalised(memory.text) for memory in memories)
    told = {entity.id for entity in index.entities.values() if _is_named(entity, text)}
    rows: list[Mention | Relation] = [*index.mentions.values(), *index.relations.values()]
    named = {
        row.id
        for row in rows
        if row.memory_id in gone or row.turn_id in said or (row.turn_id in turns and told & _ends(row))
    }
    return named | unnamed(index, without=named)


def _is_named(entity: Entity, text: str) -> bool:
    return any(normalised(name) in text for name in (entity.name, *entity.aliases) if name)


def unnamed(index: UserIndex, *, without: Collection[str]) -> set[str]:
    """The ids of the entities that nothing names `without` these mentions and relations."""
    rows: list[Mention | Relation] = [*index.mentions.values(), *index.relations.values()]
    return set(index.entities).difference(*(_ends(row) for row in rows if row.id not in without))


def _ends(row: Mention | Relation) -> set[str]:
    """The ids of the entities that a mention or a relation names."""
    return {row.entity_id} if isinstance(row, Mention) else {row.subject_id, row.object_id}


def _settled(index: UserIndex, gone: set[str]) -> Sequence[Memory]:
    """What is left of disputes with one side, as no longer disputed."""
    disputes = {index.memories[known].disputed for known in gone if known in index.memories} - {""}
    left = [item for item in index.memories.values() if item.disputed in disputes and item.id not in gone]
    sides = Counter(item.disputed for item in left)
    return [replace(item, disputed="") for item in left if sides[item.disputed] == 1]


def decided(index: UserIndex, forgotten: Forgetting, *, now: float) -> tuple[Forgetting, MemoryChanges]:
    """What is left of it to forget, with what was made of it since it was shown, and the rows that go.

    With the memories go who and what only they name; the last side of a dispute has won it.
    """
    there = {*index.memories, *index.damaged}
    left = forgetting(index, [known for known in forgotten.ids if known in there])
    gone = set(left.ids)
    events = (
        MemoryEvent(id=new_id(), user=index.user, memory_id=known, action="DELETE", at=now)
        for known in sorted(gone)
    )
    removed = gone | named_by(index, left.memories, said=forgotten.turn_ids)
    if forgotten.everything:
        removed |= {*index.entities, *index.mentions, *index.relations, *index.damaged}
    settled = tuple(_settled(index, gone))
    changes = MemoryChanges(memories=settled, events=tuple(events), removed=tuple(sorted(removed)))
    return replace(left, turns=forgotten.turns), changes


def made_of(index: UserIndex, turn_ids: Collection[str]) -> list[str]:
    """The ids of the memories that were made of what was said in these turns."""
    wanted, known = frozenset(turn_ids), index.memories.values()
    return [item.id for item in known if any(source.turn_id in wanted for source in item.sources)]


def no_longer_named(index: UserIndex, memory: Memory, *, by: MemoryChanges) -> tuple[str, ...]:
    """The ids of what a memory named alone, and does not any more once it is as in these changes."""
    rows: list[Mention | Relation] = [*by.mentions, *by.relations]
    kept = {row.id for row in (*by.entities, *rows)}.union(*map(_ends, rows))
    return tuple(sorted(named_by(index, [memory]) - kept))
