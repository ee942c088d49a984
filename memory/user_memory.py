"""One user's memory: what programs, the pages and the command line talk to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from memory import documents, forgetting, graph, recall
from memory.deciding import sides_of
from memory.extracting import normalised
from memory.forgetting import Forgetting, known_memory
from memory.not_kept import left_out
from memory.options import MemoryOptions
from memory.presets import PRESETS, Preset
from memory.recall import FoundMemory, Reading
from memory.remember import Complete, Remembering
from memory.times import Moment, now
from pipeline.errors import AthenaError
from pipeline.stores.memories import Memory, MemoryChanges, MemoryEvent
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.documents import Documents
    from memory.index import UserIndex
    from memory.indexes import Indexes
    from pipeline.steps.records import RememberStep

SEARCHED = 10  # memories that a search shows
LEAST = 0.5  # share of the threshold that a search which is asked for is content with


@dataclass(frozen=True, slots=True)
class UserMemory:
    """What is remembered of one user; safe to use from several threads.

    Single memories are changed by `memory.edits`, and looked after by `memory.upkeep.on_request`.
    Every method that changes something raises `AthenaError` with what to do, and then nothing has changed.
    """

    indexes: Indexes
    user: str
    options: MemoryOptions = field(default_factory=lambda: MemoryOptions())
    static: tuple[Memory, ...] = ()
    find_model: Callable[[], Complete | None] = lambda: None  # what asks a language model, where there is one
    documents: Documents | None = None
    zone: tzinfo = UTC
    clock: Callable[[], float] = now
    unread: Callable[[], Sequence[str]] = tuple  # the ids of turns that nobody has looked at yet

    @property
    def preset(self) -> Preset:
        """What is kept, and how it is read."""
        return PRESETS[self.options.memory]

    @property
    def complete(self) -> Complete | None:
        """Asks a language model; None where none is connected."""
        return self.find_model()

    @property
    def index(self) -> UserIndex:
        """All rows, as the store has them now."""
        return self.indexes.of(self.user)

    @property
    def threshold(self) -> float:
        """The least relevance of what is recalled."""
        return self.options.threshold_for(self.indexes.encoder.name)

    @property
    def remembering(self) -> Remembering:
        """What keeps turns."""
        return Remembering(
            self.indexes, self.user, self.preset, self.complete, zone=self.zone, clock=self.clock
        )

    # -- reading ------------------------------------------------------------------------------------

    def moment(self, *, as_of: float | None = None, known_at: float | None = None) -> Moment:
        """Now, or what was true `as_of` or what we knew `known_at` a time."""
        return Moment(now=self.clock(), as_of=as_of, known_at=known_at)

    def list(
        self, *, as_of: float | None = None, known_at: float | None = None, history: bool = False
    ) -> Sequence[Memory]:
        """What is remembered, static memory first, then the latest; with `history` also what is over."""
        moment = replace(self.moment(as_of=as_of, known_at=known_at), always=history)
        index = self.index
        with index.lock:
            kept = [memory for memory in index.memories.values() if moment.sees(memory)]
        order = sorted(kept, key=lambda memory: (not memory.pinned, -memory.created_at, memory.id))
        return [*self.static, *order]

    def get(self, memory_id: str) -> Memory:
        """One memory by its id, or by the first letters of it; raises `AthenaError`."""
        for memory in self.static:
            if memory.id == memory_id:
                return memory
        return known_memory(self.index, memory_id)

    def about_thing(self, thing: str) -> Sequence[Memory]:
        """What holds of a thing of the user's ("bunk") or of an attribute ("name"), latest first.

        Of a "suit size", else what is said of the suit's size.
        """
        owner, _, attribute = thing.rpartition(" ")
        index = self.index
        with index.lock:
            found = self._latest(index.of_thing(thing))
            if not found and owner:
                of_owner = self._latest(index.of_thing(owner))
                found = [memory for memory in of_owner if attribute in memory.text.casefold().split()]
        return found

    def about_user(self, predicates: Collection[str]) -> Sequence[Memory]:
        """What holds of the user with one of these predicates (`home`), latest first."""
        index = self.index
        with index.lock:
            return self._latest(index.of_user(predicates))

    def _latest(self, memories: Iterable[Memory]) -> Sequence[Memory]:
        moment = self.moment()
        held = [memory for memory in memories if moment.sees(memory)]
        return sorted(held, key=lambda memory: (-memory.created_at, memory.id))

    def search(
        self,
        query: str,
        *,
        limit: int = SEARCHED,
        as_of: float | None = None,
        known_at: float | None = None,
        history: bool = False,
        strict: bool = False,
    ) -> Sequence[FoundMemory]:
        """The memories about a query, best first.

        A search is content with half the relevance that an unasked recall needs; a `strict` one is not.
        """
        moment = replace(self.moment(as_of=as_of, known_at=known_at), always=history)
        share = 1.0 if strict else LEAST
        found = self._search(query, moment=moment, threshold=self.threshold * share, words_suffice=True)
        return list(found.found[:limit])

    def read(self, message: str) -> tuple[Sequence[FoundMemory], Reading]:
        """What a message brings to mind by the preset's policy, and all that was weighed for it.

        Where memories of documents are among it, they are checked against these first.
        """
        found, reading = self._read(message)
        of_documents = any(source.source for item in found for source in item.memory.sources)
        if of_documents and self.check_documents():
            found, reading = self._read(message)
        fitting = recall.within([item.memory.text for item in found], tokens=self.options.memory_tokens)
        return self._with_other_sides(found[:fitting]), reading

    def _read(self, message: str) -> tuple[Sequence[FoundMemory], Reading]:
        preset = self.preset
        reading = self._search(message, moment=self.moment(), threshold=self.threshold, depth=preset.depth)
        return recall.recallable(reading.found, preset), reading

    def _search(self, query: str, **given: Any) -> Reading:
        query = well_formed(query)
        return recall.search(self.index, query, encoder=self.indexes.encoder, options=self.options, **given)

    def _with_other_sides(self, found: Sequence[FoundMemory]) -> Sequence[FoundMemory]:
        """The found with the other sides of their disputes: neither comes alone."""
        shown = {item.memory.id for item in found}
        sides = [
            replace(item, memory=other)
            for item in found
            if item.memory.disputed
            for other in self.sides(item.memory)
            if other.id not in shown
        ]
        return [*found, *sides]

    def sides(self, memory: Memory) -> Sequence[Memory]:
        """All sides of a memory's dispute, itself among them; none where there is no dispute."""
        return sides_of(self.index, memory)

    def texts(self, ids: Iterable[str]) -> Mapping[str, str]:
        """What memories, relations and entities say, by id; those that are gone are left out."""
        index, static = self.index, {memory.id: memory.text for memory in self.static}
        known: dict[str, str] = {}
        for given in ids:
            if memory := index.memories.get(given):
                known[given] = memory.text
            elif given in static:
                known[given] = static[given]
            elif relation := index.relations.get(given):
                known[given] = graph.sentence(index, relation)
            elif entity := index.entities.get(given):
                known[given] = entity.name
        return known

    def history(self, memory_id: str = "") -> Sequence[MemoryEvent]:
        """What was done, oldest first: to one memory, or to all; known of forgotten ones, too."""
        events = self.indexes.memories.events(self.user, memory_id)
        if events or not memory_id:
            return events
        everything = self.indexes.memories.events(self.user)
        found = {event.memory_id for event in everything if event.memory_id.startswith(memory_id)}
        if len(found) == 1 and len(memory_id) >= forgetting.SHORT_ID:
            return [event for event in everything if event.memory_id in found]
        return self.indexes.memories.events(self.user, self.get(memory_id).id)

    def stats(self) -> Mapping[str, Any]:
        """Counts of what is kept, by tier, kind and category, and of the graph."""
        index = self.index
        with index.lock:
            kept = list(index.memories.values())
            moment = self.moment()
            live = [item for item in kept if moment.sees(item)]
            return {
                "user": self.user,
                "preset": self.preset.name,
                "memories": len(live),
                "history": len(kept) - len(live),
                "static": len(self.static) + sum(item.tier == "static" for item in live),
                "by_tier": dict(Counter(item.tier for item in live)),
                "by_kind": dict(Counter(item.kind for item in live)),
                "by_category": dict(Counter(item.category for item in live)),
                "pinned": sum(item.pinned for item in live),
                "disputed": sum(bool(item.disputed) for item in live),
                "stale": sum(item.stale for item in live),
                "untrusted": sum(not item.trusted for item in live),
                "entities": len(index.entities),
                "mentions": len(index.mentions),
                "relations": len(index.relations),
                "themes": dict(graph.themes(live)),
                "threshold": self.threshold,
            }

    # -- changing -----------------------------------------------------------------------------------

    def add(self, text: str) -> RememberStep:
        """Keep a text, decided as in a chat: it may replace what it corrects. Raises for a secret."""
        text = well_formed(text).strip()
        if not any(map(str.isalnum, text)):
            raise AthenaError("There is nothing to remember.", 'Write what, as in: athena memory add "…"')
        step = self.remembering.added(text)
        if step.secrets:
            raise AthenaError(
                left_out(step.secrets), "Secrets are never kept: say it without them, or use a safe."
            )
        return step

    # -- forgetting ---------------------------------------------------------------------------------

    def forgetting(
        self,
        ids: Iterable[str] = (),
        *,
        search: str = "",
        older_than: float | None = None,
        everything: bool = False,
    ) -> Forgetting:
        """What would be forgotten: by ids, by what a search finds, by age in days, or all."""
        index, given = self.index, list(ids)
        forgetting.refuse_static(self.static, given)
        with index.lock:
            if search:
                found = self.search(search, history=True, strict=True, limit=len(index.memories) or 1)
                given += forgetting.nearest_in_words(search, [item.memory for item in found])
            if older_than is not None:
                given += forgetting.older_than(index, older_than, now=self.clock())
            if everything:
                given += [*index.memories, *index.damaged]
            return forgetting.forgetting(index, given)

    def forget(self, forgotten: Forgetting, *, words: bool = True, everything: bool = False) -> None:
        """Forget it; where `words`, they are also overwritten in the turns that they came from.

        With `everything`, the graph goes, too, and what was said before is not read for more.
        """

        def decide(index: UserIndex) -> tuple[MemoryChanges, Sequence[str]]:
            unread = tuple(self.unread()) if everything else ()
            left, changes = forgetting.decided(index, forgotten, everything=everything, now=self.clock())
            changes = replace(changes, remembered=unread)
            return changes, left.words if words else ()

        self.indexes.erase(self.user, decide)

    # -- in and out ---------------------------------------------------------------------------------

    def export(self, *, form: Literal["json", "markdown"] = "json") -> str:
        """All of it: as JSON that can be imported, or as Markdown to read."""
        from memory import transfer

        index = self.index
        with index.lock:
            if form == "markdown":
                return transfer.export_markdown(index)
            events = self.indexes.memories.events(self.user)
            return transfer.export_json(index, events, now=self.clock())

    def would_import(self, data: str) -> Sequence[Memory]:
        """The memories that an import would add; nothing is written. Raises for a bad one."""
        from memory import transfer

        read = transfer.read_import(data, user=self.user, now=self.clock())
        index = self.index
        with index.lock:
            return transfer.without_known(read, index).memories

    def import_(self, data: str) -> int:
        """Take in an export; the number of memories that were new. Nothing is written of a bad one."""
        from memory import transfer

        return transfer.imported(data, indexes=self.indexes, user=self.user, now=self.clock())

    # -- documents and turns ------------------------------------------------------------------------

    def check_documents(self) -> MemoryChanges:
        """Mark as stale what documents no longer say, and as good what they say again."""
        if self.documents is None:
            return MemoryChanges()
        index = self.index
        with index.lock:
            if not any(source.source for memory in index.memories.values() for source in memory.sources):
                return MemoryChanges()
        check = partial(documents.checked, documents=self.documents, now=self.clock())
        return self.indexes.change(self.user, check)

    def used(self, ids: Iterable[str]) -> None:
        """Note that memories were recalled; the access alone changes, and no event is kept of it."""
        at, given = self.clock(), set(ids)

        def decide(index: UserIndex) -> MemoryChanges:
            return MemoryChanges(
                memories=tuple(
                    replace(memory, accessed_at=at, accesses=memory.accesses + 1)
                    for memory_id in sorted(given)
                    if (memory := index.memories.get(memory_id))
                )
            )

        self.indexes.change(self.user, decide)

    def about_entity(self, names: Sequence[str], *, depth: int = 2) -> graph.Neighbourhood:
        """The neighbourhood of several entities by name or alias; raises `AthenaError` for an unknown one."""
        index = self.index
        with index.lock:
            found = []
            for name in names:
                entity = index.entity_named(name)
                if entity is None:
                    raise AthenaError(f"Nothing is known of '{normalised(name)}'.", "Check the name.")
                found.append(entity.id)
            return graph.neighbourhood(index, found, depth=depth)
