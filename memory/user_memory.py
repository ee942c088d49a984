"""One user's memory: what programs, pages, commands and routes call."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from memory import forgetting, graph, recall
from memory.forgetting import DAY_S, Forgetting, known_memory
from memory.guard import reads_as_instruction
from memory.ids import ANSWER
from memory.keeping import SALIENCE, Kept, Remembering, Said, Writing, left_out, refuse_long, secret_kinds
from memory.options import PRESETS, MemoryOptions, Preset
from memory.questions import is_personal
from memory.recall import FoundMemory, Reading
from memory.telling import Told, line_of, told, turn_named
from memory.times import now
from memory.turns import has_words
from pipeline.errors import AthenaError
from pipeline.stores.memories import Memory, MemoryChanges
from pipeline.terms import content_terms
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.facts import Complete
    from memory.index import Indexes, UserIndex
    from memory.turn_index import FoundTurn, Turn
    from memory.turns import UserTurns
    from pipeline.stores.memories import Relation

SEARCHED = 10  # memories that a search returns
LEAST = 0.5  # share of the threshold that an explicit search is content with


@dataclass(frozen=True, slots=True)
class UserMemory:
    """The memory of one user; safe to use from several threads.

    A method that changes something raises `AthenaError` with what to do, and then nothing has changed.
    """

    indexes: Indexes
    user: str
    turns: UserTurns  # of conversations that are not private
    options: MemoryOptions = field(default_factory=lambda: MemoryOptions())
    static: tuple[Memory, ...] = ()  # of the persona
    find_model: Callable[[], Complete | None] = lambda: None  # asks a language model, where there is one
    hashes: Callable[[], Mapping[str, str]] = dict  # of the documents, by source
    clock: Callable[[], float] = now

    @property
    def preset(self) -> Preset:
        """The policy: what is kept, and how it is recalled."""
        return PRESETS[self.options.memory]

    @property
    def index(self) -> UserIndex:
        """All rows as the store has them now."""
        return self.indexes.of(self.user)

    @property
    def threshold(self) -> float:
        """The least cosine of a recalled memory."""
        return self.options.threshold_for(self.indexes.encoder.name)

    @property
    def remembering(self) -> Remembering:
        """What keeps messages."""
        return Remembering(self.indexes, self.user, self.preset, self.find_model(), self.clock)

    # -- reading ------------------------------------------------------------------------------------

    def list(self, *, history: bool = False) -> Sequence[Memory]:
        """Return all memories, static ones first, then pinned, then the latest; with `history` ended ones."""
        index = self.index
        with index.lock:
            kept = [memory for memory in index.memories.values() if history or memory.live]
        return [*self.static, *sorted(kept, key=lambda it: (not it.pinned, -it.created_at, it.id))]

    def get(self, memory_id: str) -> Memory:
        """Return one memory by its id or its first letters; raises `AthenaError`."""
        for memory in self.static:
            if memory.id == memory_id:
                return memory
        return known_memory(self.index, memory_id)

    def search(self, query: str, *, limit: int = SEARCHED, history: bool = False) -> Sequence[FoundMemory]:
        """Return the memories about a query, best first; more than an unasked recall does."""
        found = self._search(
            query,
            threshold=self.threshold * LEAST,
            keep=lambda memory: history or memory.live,
        )
        return list(found.found[:limit])

    def find_said(self, query: str, *, limit: int = SEARCHED) -> Sequence[FoundTurn]:
        """Return the turns that a search shows, best first."""
        return self.turns.find(query, least=self.threshold, limit=limit)

    def read(self, message: str) -> tuple[Sequence[FoundMemory], Reading]:
        """Return the memories to recall for a message by the preset's policy, and the whole search."""
        reading = self._reading(message)
        found = recall.recallable(reading.found, self.preset)
        fitting = recall.within([item.memory.text for item in found], tokens=self.options.memory_tokens)
        return found[:fitting], reading

    def _reading(self, message: str) -> Reading:
        hashes: Mapping[str, str] | None = None

        def keep(memory: Memory) -> bool:
            nonlocal hashes
            if not memory.live:
                return False
            quoted = [source for source in memory.sources if source.source]
            if quoted and hashes is None:
                hashes = self.hashes()
            return all((hashes or {}).get(source.source) == source.file_hash for source in quoted)

        return self._search(message, threshold=self.threshold, keep=keep, depth=self.preset.depth)

    def _search(self, query: str, **given: Any) -> Reading:
        return recall.search(
            self.index,
            well_formed(query),
            encoder=self.indexes.encoder,
            options=self.options,
            now=self.clock(),
            **given,
        )

    def told(self, question: str, *, reading: Reading | None = None, without: Collection[str] = ()) -> Told:
        """Return the memory's answer to a question; `without` are ids of turns to leave out.

        `reading` is the recall for this question, where it was done already.
        """
        if not self.preset.recalls:
            return Told()
        reading = reading or self._reading(question)
        facts = [item for item in reading.found if item.memory.trusted and item.memory.kind != "qa"]
        personal = self.turns.names_speaker(question) or is_personal(question)
        return told(question, facts, self.turns.search(question, without=without), personal=personal)

    def texts(self, ids: Iterable[str]) -> Mapping[str, str]:
        """Return the texts of memories, relations, entities and turns by id; unknown ids are left out."""
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
                known[given] = graph.described(entity)
        return known

    def is_of_user(self, known: str) -> bool:
        """Tell whether a memory, relation or turn is the user's statement, not an answer."""
        relation = self.index.relations.get(known)
        memory = self.index.memories.get(relation.memory_id if relation else known)
        return memory.origin == "user" or memory.tier == "static" if memory else not known.endswith(ANSWER)

    def said(self, ids: Iterable[str]) -> Mapping[str, Turn]:
        """Return the turns that these ids, or names of their pieces, mean; unknown ids are left out."""
        names = {given: turn_named(given)[0] for given in ids}
        found = self.turns.of(set(names.values()))
        return {given: found[name] for given, name in names.items() if name in found}

    def replaced_by(self, memory_id: str) -> Sequence[Memory]:
        """Return the memories whose place a memory took, also those that hold again."""
        return [item for item in list(self.index.memories.values()) if item.replaced_by == memory_id]

    def relations_for(self, question: str, around: graph.Neighbourhood) -> Sequence[Relation]:
        """Return the relations of a neighbourhood that fit a question best, as many as the preset recalls."""
        index = self.index
        with index.lock:
            return graph.fitting(index, around, content_terms(question))[: self.preset.relations]

    # -- changing -----------------------------------------------------------------------------------

    def add(self, text: str, *, tags: Sequence[str] = ()) -> Kept:
        """Keep a text; a model may find that it replaces another. Raises for a secret and for a long text."""
        text = well_formed(text).strip()
        if not any(map(str.isalnum, text)):
            raise AthenaError("There is nothing to remember.", 'Write what, as in: athena memory add "…"')
        refuse_long(text)
        _refuse_secrets(text)
        return self.remembering.keep_asked(text, Said(message=text, at=self.clock()), tags=tags)

    def edit(self, memory_id: str, text: str) -> Memory:
        """Change a memory's text; its id stays, its old text is erased.

        Raises `AthenaError` for no words, too many, secrets, static memory, and the text of another memory.
        """
        text = well_formed(text).strip()
        if not any(map(str.isalnum, text)):
            raise AthenaError("A memory cannot be empty.", "To be rid of it, forget it.")
        refuse_long(text)
        _refuse_secrets(text)
        before = self.changeable(memory_id)
        trusted = not reads_as_instruction(text)
        reworded = replace(before, text=text, trusted=trusted, subject="", predicate="", object="")
        (reworded,) = self.indexes.embedded([reworded])

        def decide(index: UserIndex) -> MemoryChanges:
            old = known_memory(index, before.id)
            same = (it for it in index.with_text(text) if it.live and it.id != old.id and it.tier == old.tier)
            if old.live and (twin := next(same, None)):
                raise AthenaError(
                    f"That is remembered already: “{twin.text}”.", "To keep it once, forget one of them."
                )
            kept = replace(reworded, pinned=old.pinned, ended_at=old.ended_at, replaced_by=old.replaced_by)
            return self.remembering.renamed(index, old, kept)

        return self.indexes.erase(self.user, decide).memories[0]

    def pin(self, memory_id: str, *, pinned: bool = True) -> Memory:
        """Protect a memory from being forgotten by age or summarised; or end that protection."""
        return self._replaced(memory_id, lambda memory: replace(memory, pinned=pinned))

    def undo(self, memory_id: str) -> Sequence[Memory]:
        """End a memory, and let those whose place it took hold again; these are returned."""
        known = self.changeable(memory_id).id

        def decide(index: UserIndex, writing: Writing) -> None:
            new = known_memory(index, known)
            for old in [item for item in index.memories.values() if item.replaced_by == new.id]:
                if not any(item.live for item in index.with_text(old.text)):
                    writing.write(replace(old, ended_at=None))
            if new.live:
                writing.write(replace(new, ended_at=writing.now))

        return [memory for memory in self.write(decide) if memory.live]

    def rated(self, turn_id: str, value: int | None) -> None:
        """Move the importance of a question and its answer with the reader's thumb: 1, -1 or None."""

        def decide(index: UserIndex, writing: Writing) -> None:
            for memory in forgetting.made_of(index, [turn_id]):
                success = {1: True, -1: False}.get(value or 0)
                after = replace(memory, importance=SALIENCE[value], success=success)
                if memory.kind == "qa" and memory.live and after != memory:
                    writing.write(after)

        self.write(decide)

    def used(self, ids: Iterable[str]) -> None:
        """Store the time at which memories were recalled."""
        at, given = self.clock(), sorted(set(ids))

        def decide(index: UserIndex) -> MemoryChanges:
            known = [index.memories[each] for each in given if each in index.memories]
            return MemoryChanges(
                memories=tuple(replace(it, accessed_at=at, accesses=it.accesses + 1) for it in known)
            )

        self.indexes.change(self.user, decide)

    def write(self, decide: Callable[[UserIndex, Writing], None]) -> Sequence[Memory]:
        """Write what is decided on the memories as they are at that moment."""

        def written(index: UserIndex) -> MemoryChanges:
            writing = Writing(now=self.clock())
            decide(index, writing)
            return writing.changes

        return self.indexes.change(self.user, written).memories

    def _replaced(self, memory_id: str, change: Callable[[Memory], Memory]) -> Memory:
        known = self.changeable(memory_id).id
        return self.write(lambda index, writing: writing.write(change(known_memory(index, known))))[0]

    def changeable(self, memory_id: str) -> Memory:
        """Return one memory by its id; raises `AthenaError` for static memory."""
        memory = self.get(memory_id)
        if memory.tier == "static":
            raise AthenaError(
                f"Memory '{memory_id}' is static: it cannot be changed.",
                "Edit the persona's file, or forget it and import it again.",
            )
        return memory

    # -- forgetting ---------------------------------------------------------------------------------

    def forgetting(
        self,
        ids: Iterable[str] = (),
        *,
        search: str = "",
        older_than: float | None = None,
        everything: bool = False,
        without: Collection[str] = (),
    ) -> Forgetting:
        """Return what would be forgotten: by ids of memories and turns, by search, by age in days, or all.

        Turns go with the memories that were made of them, but pinned memories stay where age decides.
        `without` are ids of turns that stay.
        """
        index, given = self.index, list(ids)
        if static := next((memory.id for memory in self.static if memory.id in given), ""):
            raise AthenaError(
                f"Memory '{static}' is static: it cannot be forgotten.", "Edit the persona's file."
            )
        said = self.said(given)
        meant = {turn.id.removesuffix(ANSWER) for turn in said.values()}
        meant |= {turn.id for turn in self.turns.about(search)} if search else set()
        facts = [known for known in given if known not in said]
        before = -math.inf if older_than is None else self.clock() - older_than * DAY_S
        before = math.inf if everything else before
        turns = tuple(
            turn
            for turn in self.turns.all()
            if (own := turn.id.removesuffix(ANSWER)) not in without
            and ((turn.at or 0.0) < before or meant.intersection((turn.id, own)))
        )
        with index.lock:
            if search:
                about = self._search(search, threshold=self.threshold, keep=lambda _: True).found
                facts += forgetting.nearest_in_words(search, [item.memory for item in about])
            made = forgetting.made_of(index, [turn.id for turn in turns])
            old = [memory for memory in index.memories.values() if memory.created_at < before]
            stays = older_than is not None and not everything
            gone = [it for it in (*old, *made) if not (stays and (it.pinned or it.tier == "static"))]
            facts += [*(item.id for item in gone)]
            result = forgetting.forgetting(index, facts)
        hidden = self.turns.hidden() if everything or meant or search else {}
        along = tuple(
            known
            for known, question in hidden.items()
            if known not in without
            and (everything or known in meant or (search and has_words(question, search)))
        )
        return replace(result, turns=turns, hidden=along, everything=everything)

    def forget(self, forgotten: Forgetting) -> None:
        """Forget memories with their names, and delete the turns in which they were said.

        Other turns may say the same in other words: they stay.
        """
        turns = (*forgotten.turn_ids, *forgotten.hidden, *forgotten.said_in)
        decide = partial(forgetting.decided, forgotten=forgotten)
        self.indexes.erase(self.user, decide, turns=turns)


def _refuse_secrets(text: str) -> None:
    if kinds := secret_kinds(text):
        raise AthenaError(left_out(kinds), "Secrets are never kept: say it without them, or use a safe.")
