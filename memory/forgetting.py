"""Forgetting: choose the memories, turns and graph rows to delete."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.graph import ends
from memory.turn_index import ANSWER
from memory.turns import has_words
from pipeline.errors import UnknownMemory
from pipeline.stores.memories import Memory, MemoryChanges, Mention, Relation

if TYPE_CHECKING:
    from memory.index import MemoryParts, UserIndex
    from memory.turn_index import Turn

SHORT_ID = 8  # least characters of an id's beginning that may stand for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """The memories, with all memories derived from them, and the turns that a request would delete."""

    memories: tuple[Memory, ...] = ()
    turns: tuple[Turn, ...] = ()  # including turns that a search never finds
    everything: bool = False  # the whole graph is deleted, too

    def __bool__(self) -> bool:
        return bool(self.memories or self.turns)

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the memories."""
        return tuple(memory.id for memory in self.memories)

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """Return the ids of the stored turns."""
        return tuple(sorted({turn_of(turn) for turn in self.turns}))

    @property
    def said_in(self) -> tuple[str, ...]:
        """Return the ids of the turns that the memories come from."""
        named = (source.turn_id for memory in self.memories for source in memory.sources)
        return tuple(dict.fromkeys(filter(None, named)))


def would_forget(
    user: MemoryParts, ids: Sequence[str], *, search: str, everything: bool, without: Collection[str]
) -> Forgetting:
    """Return what would be forgotten; see `UserMemory.forgetting`. Raises `AthenaError` for an unknown id."""
    index, said = user.index, user.turns.of(ids)
    meant = {turn_of(turn) for turn in said.values()}

    def goes(turn_id: str, text: str) -> bool:
        named = everything or turn_id in meant or (search and has_words(text, search))
        return bool(named) and turn_id not in without

    turns = user.turns.all()
    going = {turn_of(turn) for turn in turns if goes(turn_of(turn), turn.text)}
    hidden = [turn for turn, text in user.turns.hidden().items() if goes(turn.id, text)]
    with index.lock:
        known = list(index.memories.values())
        facts = [one for one in ids if one not in said]
        facts += [it.id for it in known if everything or (search and has_words(it.text, search))]
        memories = with_made_of(index, [*facts, *(memory.id for memory in made_of(index, going))])
    return Forgetting(
        memories=memories,
        turns=(*(turn for turn in turns if turn_of(turn) in going), *hidden),
        everything=everything,
    )


def decided(index: UserIndex, forgotten: Forgetting) -> MemoryChanges:
    """Return the rows to delete: memories, those derived from them meanwhile, their mentions and relations.

    Entities without any other mention or relation are deleted, too; with `everything`, the whole graph.
    """
    left = with_made_of(index, [known for known in forgotten.ids if known in index.memories])
    gone = {memory.id for memory in left}
    removed = gone | named_by(index, gone, {*forgotten.turn_ids, *forgotten.said_in})
    if forgotten.everything:
        removed |= {*index.entities, *index.mentions, *index.relations}
    return MemoryChanges(removed=tuple(sorted(removed)))


def with_made_of(index: UserIndex, ids: Iterable[str]) -> tuple[Memory, ...]:
    """Return the memories with these ids and all derived ones; raises `AthenaError` for an unknown id."""
    found = {memory.id: memory for memory in (known_memory(index, known) for known in ids)}
    while made := {
        memory.id: memory
        for memory in index.memories.values()
        if memory.id not in found and any(source.memory_id in found for source in memory.sources)
    }:
        found |= made
    return tuple(found.values())


def known_memory(index: UserIndex, memory_id: str) -> Memory:
    """Return the memory by its id, or first 8 or more letters; raises `AthenaError` for none or several."""
    if memory := index.memories.get(memory_id):
        return memory
    found = [known for known in list(index.memories) if memory_id and known.startswith(memory_id)]
    if len(found) == 1 and len(memory_id) >= SHORT_ID:
        return index.memories[found[0]]
    raise UnknownMemory(
        f"No memory '{memory_id}' is kept about '{index.user}'.", "See the list; it may need more of the id."
    )


def made_of(index: UserIndex, turn_ids: Collection[str]) -> list[Memory]:
    """Return the memories that were derived from these turns."""
    wanted, known = frozenset(turn_ids), index.memories.values()
    return [item for item in known if any(source.turn_id in wanted for source in item.sources)]


def named_by(index: UserIndex, ids: Collection[str], turn_ids: Collection[str] = ()) -> set[str]:
    """Return the ids of the mentions and relations of memories and turns, and of entities with no others."""
    rows: list[Mention | Relation] = [*index.mentions.values(), *index.relations.values()]
    named = {row.id for row in rows if row.memory_id in ids or row.turn_id in turn_ids}
    left = {end for row in rows if row.id not in named for end in ends(row)}
    return named | (set(index.entities) - left)


def turn_of(turn: Turn) -> str:
    """Return the id of the stored turn that a message or an answer belongs to."""
    return turn.id.removesuffix(ANSWER)
