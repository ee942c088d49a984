"""One user's memory: what programs, the pages and the command line talk to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any

from memory.deciding import forgetting
from memory.deciding.decisions import sides_of
from memory.deciding.forgetting import DAY_S, Forgetting, known_memory
from memory.deciding.heard import left_out, refuse_long
from memory.deciding.naming import is_current
from memory.deciding.remember import ASKING, Complete, Remembering
from memory.ids import ANSWER
from memory.options import PRESETS, MemoryOptions, Preset
from memory.reading.asking import is_personal, names_what
from memory.reading.records import USER
from memory.reading.rules import predicates_asked_for
from memory.recalling import documents, graph, recall
from memory.recalling.recall import FoundMemory, Reading
from memory.recalling.telling import MOST_FACTS, Told, line_of, told, turn_named
from memory.recalling.turn_search import FoundTurns
from memory.recalling.user_turns import ANY, Which
from memory.times import Moment, now
from pipeline.errors import AthenaError
from pipeline.options import PriceOptions
from pipeline.stores.memories import Memory, MemoryChanges, MemoryEvent
from pipeline.terms import content_terms
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.recalling.documents import Documents
    from memory.recalling.turn_index import FoundTurn, Turn
    from memory.recalling.user_index import Indexes, UserIndex
    from memory.recalling.user_turns import UserTurns
    from pipeline.steps.records import Step
    from pipeline.stores.memories import Relation

SEARCHED = 10  # memories that a search shows
MOST_RELATIONS = 15  # recalled
COUNTED_BY = ("tier", "kind", "category")
LEAST = 0.5  # share of the threshold that a search which is asked for is content with


@dataclass(frozen=True, slots=True)
class UserMemory:
    """What is remembered of one user; safe to use from several threads.

    Single memories are changed by `memory.deciding.edits`, and looked after by `memory.deciding.upkeep`.
    Every method that changes something raises `AthenaError` with what to do, and then nothing has changed.
    """

    indexes: Indexes
    user: str
    turns: UserTurns  # what was said in conversations that are not private
    options: MemoryOptions = field(default_factory=lambda: MemoryOptions())
    static: tuple[Memory, ...] = ()
    find_model: Callable[[], Complete | None] = lambda: None  # what asks a language model, where there is one
    documents: Documents | None = None
    zone: tzinfo = UTC
    clock: Callable[[], float] = now
    unread: Callable[[], Sequence[str]] = tuple  # the ids of turns that nobody has looked at yet
    prices: PriceOptions = field(default_factory=PriceOptions)

    @property
    def preset(self) -> Preset:
        """What is kept, and how it is read."""
        return PRESETS[self.options.memory]

    @property
    def recalls_turns(self) -> bool:
        """Whether what was said is recalled, or only what was kept as a fact."""
        return self.preset.recalls and self.options.memory_recall == "all"

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
        """What reads messages, and keeps what they say."""
        complete = self.find_model()
        return Remembering(self.indexes, self.user, self.preset, complete, self.zone, self.clock)

    # -- reading ------------------------------------------------------------------------------------

    def list(
        self, *, as_of: float | None = None, known_at: float | None = None, history: bool = False
    ) -> Sequence[Memory]:
        """What is remembered, static memory first, then the latest; with `history` also what is over."""
        moment = Moment(now=self.clock(), as_of=as_of, known_at=known_at, always=history)
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
        moment = Moment(now=self.clock(), as_of=as_of, known_at=known_at, always=history)
        least = self.threshold * (1.0 if strict else LEAST)
        found = self._search(query, moment=moment, threshold=least, words_suffice=True)
        return list(found.found[:limit])

    def read(self, message: str) -> tuple[Sequence[FoundMemory], Reading]:
        """What a message brings to mind by the preset's policy, and all that was weighed for it.

        Where memories of documents are among it, they are checked against these first.
        """
        reading = self._reading(message)
        found = recall.recallable(reading.found, self.preset)
        of_documents = any(source.source for item in found for source in item.memory.sources)
        if of_documents and self.check_documents():
            reading = self._reading(message)
            found = recall.recallable(reading.found, self.preset)
        fitting = recall.within([item.memory.text for item in found], tokens=self.options.memory_tokens)
        return self._with_other_sides(found[:fitting]), reading

    def _reading(self, message: str) -> Reading:
        """All that is weighed for a message by the preset's policy."""
        moment = Moment(now=self.clock())
        return self._search(message, moment=moment, threshold=self.threshold, depth=self.preset.depth)

    def _search(self, query: str, **given: Any) -> Reading:
        query = well_formed(query)
        return recall.search(self.index, query, encoder=self.indexes.encoder, options=self.options, **given)

    def _with_other_sides(self, found: Sequence[FoundMemory]) -> Sequence[FoundMemory]:
        """The found with the other sides of their disputes: neither comes alone."""
        shown = {item.memory.id for item in found}
        disputed = [item for item in found if item.memory.disputed]
        sides = [
            replace(item, memory=side) for item in disputed for side in sides_of(self.index, item.memory)
        ]
        return [*found, *(side for side in sides if side.memory.id not in shown)]

    def texts(self, ids: Iterable[str]) -> Mapping[str, str]:
        """What memories, relations and entities say, by id; those that are gone are left out."""
        ids = tuple(ids)
        index, static = self.index, {memory.id: memory for memory in self.static}
        said = self.said(given for given in ids if given not in index.memories)
        known = {given: line_of(turn, turn_named(given)[1]) for given, turn in said.items()}
        for given in ids:
            if memory := index.memories.get(given) or static.get(given):
                known[given] = memory.text
            elif relation := index.relations.get(given):
                known[given] = graph.sentence(index, relation)
            elif entity := index.entities.get(given):
                known[given] = entity.name
        return known

    def is_of_user(self, known: str) -> bool:
        """Whether a memory, relation or turn is what the user said, not an answer, nor of a document."""
        relation = self.index.relations.get(known)
        memory = self.index.memories.get(relation.memory_id if relation else known)
        if relation and (relation.source or relation.turn_id.endswith(ANSWER)):
            return False
        return memory.origin == "user" or memory.tier == "static" if memory else not known.endswith(ANSWER)

    def find_said(self, query: str, *, which: Which = ANY, limit: int = SEARCHED) -> Sequence[FoundTurn]:
        """What was said that a search shows, best first; without a query, the latest."""
        return self.turns.find(query, least=self.threshold, which=which, limit=limit)

    def said(self, ids: Iterable[str]) -> Mapping[str, Turn]:
        """The turns that these ids name, or pieces of them; those that are gone are left out."""
        names = {given: turn_named(given)[0] for given in ids}
        found = self.turns.of(set(names.values()))
        return {given: found[name] for given, name in names.items() if name in found}

    def replaced_by(self, memory_id: str) -> Sequence[Memory]:
        """The memories that became history because of this one, also those that hold again."""
        events = self.indexes.memories.events(self.user)
        ended = (it.memory_id for it in events if it.action == "INVALIDATE" and it.other_id == memory_id)
        known = self.index.memories
        return [known[each] for each in dict.fromkeys(ended) if each in known]

    def told(self, question: str, *, reading: Reading | None = None, without: Collection[str] = ()) -> Told:
        """What the memory tells of a question, without some turns by id; nothing where nothing fits it.

        `reading` is what the question brings to mind, where that was read already.
        """
        preset, turns = self.preset, FoundTurns()
        reading = reading or self._reading(question)
        facts = [
            item
            for item in (reading.found if preset.recalls else ())
            if item.relevance > self.threshold and item.memory.trusted and not item.memory.stale
        ]
        if self.recalls_turns:
            turns = self.turns.search(question, without=without)
        relations = self.relations_for(question, reading.around) if preset.depth > 1 else ()
        return told(
            question,
            facts[:MOST_FACTS],
            turns,
            personal=self.turns.names_speaker(question) or is_personal(question, was_said=self.turns.says),
            named=names_what(question, was_said=self.turns.says),
            exact=self._exactly(question),
            relations=[relation for relation in relations if not relation.source],
        )

    def _exactly(self, question: str) -> Sequence[Memory]:
        """What holds now of just what a question about the user asks for, latest first: "where do I live"."""
        index, moment = self.index, Moment(now=self.clock())
        with index.lock:
            asked = [each for known in predicates_asked_for(question) for each in index.about(USER, known)]
        return sorted(filter(moment.sees, asked), key=lambda memory: -memory.created_at)

    def history(self, memory_id: str = "") -> Sequence[MemoryEvent]:
        """What was done, oldest first: to one memory, or to all; known of forgotten ones, too."""
        events = self.indexes.memories.events(self.user)
        found = {event.memory_id for event in events if event.memory_id.startswith(memory_id)}
        if memory_id and memory_id not in found and (len(found) != 1 or len(memory_id) < forgetting.SHORT_ID):
            memory_id = self.get(memory_id).id
        return [event for event in events if event.memory_id.startswith(memory_id)]

    def stats(self) -> Mapping[str, Any]:
        """Counts of what is kept, by tier, kind and category, and of the graph."""
        index, said, moment = self.index, self.turns.own(), Moment(now=self.clock())
        with index.lock:
            kept = list(index.memories.values())
            live = [item for item in kept if moment.sees(item)]
            return {
                "user": self.user,
                "preset": self.preset.name,
                "memories": len(live),
                "messages": len(said),
                "history": len(kept) - len(live),
                "static": len(self.static) + sum(item.tier == "static" for item in live),
                **{f"by_{by}": dict(Counter(getattr(it, by) for it in live)) for by in COUNTED_BY},
                **{
                    name: sum(bool(getattr(it, name)) for it in live)
                    for name in ("pinned", "disputed", "stale")
                },
                "untrusted": sum(not item.trusted for item in live),
                **{name: len(getattr(index, name)) for name in ("entities", "mentions", "relations")},
                "themes": dict(graph.themes(live)),
                "threshold": self.threshold,
            }

    # -- changing -----------------------------------------------------------------------------------

    def add(self, text: str) -> Step:
        """Keep a text, decided as in a chat: it may replace others. Raises for a secret, and a long text."""
        text = well_formed(text).strip()
        if not any(map(str.isalnum, text)):
            raise AthenaError("There is nothing to remember.", 'Write what, as in: athena memory add "…"')
        refuse_long(text)
        remembering = self.remembering
        step = remembering.keep_asked(remembering.hear(ASKING + text), start=len(ASKING))
        if secrets := step.data["secrets"]:
            raise AthenaError(
                left_out(secrets), "Secrets are never kept: say it without them, or use a safe."
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
        turns: Collection[str] = (),
        without: Collection[str] = (),
    ) -> Forgetting:
        """What would be forgotten: by ids, by what a search finds, by age in days, or all.

        Turns go with the memories that were made of them; those `without` do not.
        """
        index, given = self.index, list(ids)
        if static := next((memory.id for memory in self.static if memory.id in given), ""):
            raise AthenaError(
                f"Memory '{static}' is static: it cannot be forgotten.", "Edit the persona's file."
            )
        meant = {turn_named(known)[0].removesuffix(ANSWER) for known in turns}
        meant |= {turn.id for turn in self.turns.about(search)} if search else set()
        unfound = self.turns.unfound() if everything or turns else ()
        before = (
            math.inf if everything else -math.inf if older_than is None else self.clock() - older_than * DAY_S
        )
        said = tuple(
            turn
            for turn in self.turns.all()
            if (own := turn.id.removesuffix(ANSWER)) not in without
            and ((turn.at or 0.0) < before or meant.intersection((turn.id, own)))
        )
        with index.lock:
            if search:
                facts = self.search(search, history=True, strict=True, limit=len(index.memories) or 1)
                given += forgetting.nearest_in_words(search, [item.memory for item in facts])
            old = (memory for memory in index.memories.values() if memory.created_at < before)
            given += [it.id for it in old if everything or not (it.pinned or it.tier == "static")]
            given += index.damaged if everything else ()
            given += forgetting.made_of(index, [turn.id for turn in said])
            found = forgetting.forgetting(index, given)
        goes_along = tuple(
            known for known in unfound if known not in without and (everything or known in meant)
        )
        return replace(found, turns=said, unfound=goes_along, everything=everything)

    def forget(self, forgotten: Forgetting, *, words: bool = True) -> None:
        """Forget it; where `words`, they are also overwritten in the turns that they came from.

        The turns that are forgotten are deleted; without `words` they stay to read and are not found again.
        Where it is everything, what was said before is not read for more.
        """
        said: Sequence[str] = ()
        if not words:
            self.turns.leave_out(forgotten.turn_ids)
        elif not forgotten.everything:  # else no other turn is left that repeats them
            said = self.turns.words_of(forgotten.turn_ids)

        def decide(index: UserIndex) -> tuple[MemoryChanges, Sequence[str]]:
            left, changes = forgetting.decided(index, forgotten, now=self.clock())
            changes = replace(changes, remembered=tuple(self.unread()) if forgotten.everything else ())
            return changes, (*left.words, *said) if words else ()

        turns = (*forgotten.turn_ids, *forgotten.unfound) if words else ()
        self.indexes.erase(self.user, decide, turns=turns)

    # -- documents and turns ------------------------------------------------------------------------

    def check_documents(self) -> MemoryChanges:
        """Mark as stale what documents no longer say, and as good what they say again."""
        if self.documents is None:
            return MemoryChanges()
        check = partial(documents.checked, documents=self.documents, now=self.clock())
        return self.indexes.change(self.user, check)

    def relations_for(self, question: str, around: graph.Neighbourhood) -> Sequence[Relation]:
        """The relations of a neighbourhood that fit a question best, at most fifteen.

        None of a document that has changed since it was read, of any where the preset reads none, or of what
        does not hold any more.
        """
        if not around.relations:
            return ()
        of_documents = any(relation.source for relation in around.relations)
        hashes = self.documents.hashes() if of_documents and self.preset.documents and self.documents else {}
        index = self.index
        with index.lock:
            gone = {memory.id for memory in index.memories.values() if not memory.live or not memory.trusted}
            current = [
                item
                for item in around.relations
                if item.memory_id not in gone and is_current(index, item, hashes)
            ]
            around = replace(around, relations=tuple(graph.connected(around, current)))
            found = graph.fitting(index, around, content_terms(question))
        return found[:MOST_RELATIONS]

    def used(self, ids: Iterable[str]) -> None:
        """Note that memories were recalled; the access alone changes, and no event is kept of it."""
        at, given = self.clock(), sorted(set(ids))

        def decide(index: UserIndex) -> MemoryChanges:
            known = [index.memories[each] for each in given if each in index.memories]
            return MemoryChanges(
                memories=tuple(replace(it, accessed_at=at, accesses=it.accesses + 1) for it in known)
            )

        self.indexes.change(self.user, decide)
