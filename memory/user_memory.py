"""One user's memory: the interface for programs, pages, commands and routes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from memory import forgetting, graph, recall
from memory.forgetting import Forgetting, known_memory
from memory.guard import reads_as_instruction
from memory.index import MemoryParts
from memory.keeping import SALIENCE, Kept, Said, keep_asked, refuse, reworded
from memory.recall import FoundMemory, Reading
from memory.telling import line_of, told
from pipeline.answering.recollection import Recollection
from pipeline.errors import AthenaError
from pipeline.stores.memories import Memory, MemoryChanges
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.index import UserIndex

SEARCHED = 10  # memories that a search returns
LEAST = 0.5  # threshold of an explicit search, as a share of that of recall


@dataclass(frozen=True, slots=True)
class UserMemory(MemoryParts):
    """The memory of one user; safe to use from several threads.

    A change that fails raises `AthenaError` with advice, and changes nothing.
    """

    # -- reading ------------------------------------------------------------------------------------

    def list(self, *, history: bool = False) -> Sequence[Memory]:
        """Return the live memories, pinned ones first, then the latest; with `history` also ended ones."""
        index = self.index
        with index.lock:
            kept = [memory for memory in index.memories.values() if history or memory.live]
        return sorted(kept, key=lambda it: (not it.pinned, -it.created_at, it.id))

    def get(self, memory_id: str) -> Memory:
        """Return a memory by its id, or by its unique first 8 or more letters; raises `AthenaError`."""
        return known_memory(self.index, memory_id)

    def search(self, query: str, *, limit: int = SEARCHED, history: bool = False) -> Sequence[FoundMemory]:
        """Return at most `limit` memories about a query, best first; it finds more than recall does."""
        least = self.threshold * LEAST
        return recall.search(self, query, threshold=least, keep=lambda it: history or it.live).found[:limit]

    def relations_around(self, name: str, *, limit: int) -> dict[str, str]:
        """Return at most `limit` relations within two steps of an entity as sentences by id, nearest first.

        Raises `AthenaError` for the name of no known entity.
        """
        with self.index.lock:
            entity = self.index.entity_named(name)
            if entity is None:
                raise AthenaError(f"Nothing is known about '{name:.200}'.", "Check the name.")
            around = graph.neighbourhood(self.index, [entity.id]).relations[:limit]
            return {relation.id: graph.sentence(self.index, relation) for relation in around}

    def read(self, message: str) -> tuple[Sequence[FoundMemory], Reading]:
        """Return the memories that the preset recalls for a message, and the whole search result."""
        reading = self._reading(message)
        return recall.recallable(reading.found, self.preset), reading

    def _reading(self, message: str) -> Reading:
        """Search the live memories, except those that quote a document that has changed or is gone."""
        hashes = cache(self.hashes)

        def keep(memory: Memory) -> bool:
            quoted = (source for source in memory.sources if source.source)
            return memory.live and all(hashes().get(it.source) == it.file_hash for it in quoted)

        return recall.search(self, message, keep=keep, depth=self.preset.depth)

    def told(
        self, question: str, *, reading: Reading | None = None, without: Collection[str] = ()
    ) -> Recollection:
        """Return the memory's answer to a question; `without` are ids of turns to leave out.

        `reading` is the search result for this question, if there is one already.
        """
        if not self.preset.recalls:
            return Recollection(verdict="not remembered")
        reading = reading or self._reading(question)
        facts = [item for item in reading.found if item.memory.trusted and item.memory.kind != "qa"]
        return told(question, facts, self.turns.search(question, without=without))

    def texts(self, ids: Iterable[str]) -> Mapping[str, str]:
        """Return the texts of memories, relations, entities and turns by id; unknown ids are left out."""
        ids, index = tuple(ids), self.index
        known = {known: line_of(turn) for known, turn in self.turns.of(ids).items()}
        known |= {memory.id: memory.text for memory in self.static if memory.id in ids}
        for given in ids:
            if memory := index.memories.get(given):
                known[given] = memory.text
            elif relation := index.relations.get(given):
                known[given] = graph.sentence(index, relation)
            elif entity := index.entities.get(given):
                known[given] = graph.described(entity)
        return known

    def replaced_by(self, memory_id: str) -> Sequence[Memory]:
        """Return the memories that this one replaced, including memories that `undo` has restored."""
        return [item for item in list(self.index.memories.values()) if item.replaced_by == memory_id]

    # -- changing -----------------------------------------------------------------------------------

    def add(self, text: str) -> Kept:
        """Store a text, which may replace a memory; raises `AthenaError` if too long, secret or wordless."""
        text = well_formed(text).strip()
        refuse(text)
        return keep_asked(self, text, Said(message=text, at=self.clock()))

    def edit(self, memory_id: str, text: str) -> Memory:
        """Change a memory's text, keep its id, and erase its old text from the store.

        Raises `AthenaError` for an unknown id, or a text without words, too long, secret or known already.
        """
        text = well_formed(text).strip()
        refuse(text)
        said: dict[str, Any] = {"text": text, "trusted": not reads_as_instruction(text)}
        said |= {"subject": "", "predicate": "", "object": ""}
        (new,) = self.indexes.embedded([replace(self.get(memory_id), **said)])
        said |= {"embedding": new.embedding, "embedded_by": new.embedded_by}

        def decide(index: UserIndex) -> MemoryChanges:
            old = known_memory(index, new.id)
            same = (it for it in index.with_text(text) if it.live and it.id != old.id and it.tier == old.tier)
            if old.live and (twin := next(same, None)):
                raise AthenaError(
                    f"That is remembered already: “{twin.text}”.", "To keep it once, forget one of them."
                )
            return reworded(index, old, replace(old, **said))

        return self.indexes.change(self.user, decide, erase=True).memories[0]

    def pin(self, memory_id: str, *, pinned: bool = True) -> Memory:
        """Protect a memory from being summarised, or end that protection."""
        return self.write(lambda index: [replace(known_memory(index, memory_id), pinned=pinned)])[0]

    def undo(self, memory_id: str) -> Sequence[Memory]:
        """End a memory; restore and return those that it replaced, except texts that are live elsewhere."""

        def decide(index: UserIndex) -> list[Memory]:
            new = known_memory(index, memory_id)
            former = [item for item in index.memories.values() if item.replaced_by == new.id]
            former = [it for it in former if not any(one.live for one in index.with_text(it.text))]
            ended = [replace(new, ended_at=self.clock())] if new.live else []
            return [*ended, *(replace(item, ended_at=None) for item in former)]

        return [memory for memory in self.write(decide) if memory.live]

    def rated(self, turn_id: str, value: int | None) -> None:
        """Set the importance of a turn's stored question and answer by the reader's rating: 1, -1 or None."""
        success = {1: True, -1: False}.get(value or 0)

        def decide(index: UserIndex) -> list[Memory]:
            made = forgetting.made_of(index, [turn_id])
            kept = [item for item in made if item.kind == "qa" and item.live]
            return [replace(item, importance=SALIENCE[value], success=success) for item in kept]

        self.write(decide)

    def used(self, ids: Iterable[str]) -> None:
        """Store the time of this recall of memories, and count it; ignore unknown ids."""
        at, given = self.clock(), sorted(set(ids))

        def decide(index: UserIndex) -> list[Memory]:
            known = [index.memories[each] for each in given if each in index.memories]
            return [replace(it, accessed_at=at, accesses=it.accesses + 1) for it in known]

        self.write(decide)

    # -- forgetting ---------------------------------------------------------------------------------

    def forgetting(
        self,
        ids: Iterable[str] = (),
        *,
        search: str = "",
        everything: bool = False,
        without: Collection[str] = (),
    ) -> Forgetting:
        """Return what would be forgotten: by ids of memories and turns, by words of `search`, or everything.

        Memories derived from them are included. `without` are ids of turns to keep. Raises `AthenaError`.
        """
        return forgetting.would_forget(
            self, tuple(ids), search=search, everything=everything, without=without
        )

    def forget(self, forgotten: Forgetting) -> None:
        """Erase memories and their graph rows, and delete the chosen turns and the memories' source turns.

        Other turns that state the same in other words are not deleted.
        """
        decide = partial(forgetting.decided, forgotten=forgotten)
        turns = (*forgotten.turn_ids, *forgotten.said_in)
        self.indexes.change(self.user, decide, erase=True, turns=turns)
