"""Writing: what of a turn is kept.

guard → extract → decide → one write, which is decided again where somebody else has written meanwhile
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from memory.deciding import Candidate, Deciding
from memory.extracting import (
    entities_in,
    extract_with,
    importance_of,
    normalised,
    reads_as_instruction,
    single_valued,
    statements_in,
    without_secrets,
)
from memory.extracting.records import Category, Extraction, Statement
from memory.guard import left_out
from memory.ids import id_of, new_id
from memory.index import plain
from memory.indexes import Indexes
from memory.presets import Preset
from memory.reasons import WAS_ASKED_FOR
from memory.times import now
from pipeline.errors import ModelError
from pipeline.steps.records import RememberStep
from pipeline.stores.memories import (
    Entity,
    Memory,
    MemoryChanges,
    MemorySource,
    Mention,
    Relation,
)

if TYPE_CHECKING:
    from memory.extracting.records import Entity as Named
    from memory.extracting.records import Relation as Stated
    from memory.index import UserIndex
    from pipeline.answer import Answer, Citation

Complete = Callable[[str], str]

_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
_ASKING = re.compile(r"\brem\w*ber\b|\bforget\b|\bmemori[sz]e\b|\bin mind\b", re.IGNORECASE)

ASKING = "Remember that "
NOTHING_ASKED = "nothing was asked to be remembered"
LEAST_WORDS = 3  # of what is kept although no rule reads it
STATED = "You said it."
QUESTION = "You asked it, and it was answered."
SALIENCE = {True: 0.7, None: 0.6, False: 0.5}  # of a question and its answer, by success
MOST_ENTITIES = 20  # of one answer
MOST_ANSWER = 300  # characters of an answer that are kept with its question
INSTRUCTION_NOTE = "It reads like an instruction: it is kept, and never acted on."


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn, as far as remembering needs it; `question` and `answer` stay apart, with their roles."""

    turn_id: str
    question: str
    answer: str = ""  # without citation markers
    at: float = 0.0
    from_memory: bool = False  # the memory itself answered, or a rule: nothing to learn from
    citations: tuple[Citation, ...] = ()
    recalled: tuple[str, ...] = ()  # ids of the memories in its prompt
    success: bool | None = None

    @classmethod
    def of(cls, answer: Answer, *, text: str, at: float, feedback: int | None = None) -> Said:
        """A turn from its answer; `text` is the answer without markers."""
        helped = {1: True, -1: False}.get(feedback or 0, None if not answer.abstained else False)
        return cls(
            turn_id=answer.turn_id,
            question=answer.question,
            answer="" if answer.abstained else text,
            at=at,
            from_memory=answer.mode in ("memory", "reply"),
            citations=answer.citations,
            recalled=answer.recalled,
            success=helped,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a message does to a memory that keeps only what it is asked to keep."""

    asks: bool = False  # for something to be remembered
    corrects: bool = False  # it states, and does not ask, something else than what is remembered of the same

    def __bool__(self) -> bool:
        return self.asks or self.corrects


@dataclass(frozen=True, slots=True)
class Remembering:
    """Keeps what turns say of one user, by a preset's policy; safe to use from several threads."""

    indexes: Indexes
    user: str
    preset: Preset
    complete: Complete | None = None  # asks a language model
    zone: tzinfo = UTC
    clock: Callable[[], float] = field(default=now)

    def turn(self, said: Said) -> RememberStep:
        """Keep of a turn what the preset keeps, and mark it as remembered."""
        if said.from_memory or not self.keeps(said.question):
            step = RememberStep(preset=self.preset.name, started_at=time.time())
            self.indexes.change(self.user, lambda _: MemoryChanges(remembered=(said.turn_id,)))
            return replace(step, status="skipped", detail=NOTHING_ASKED)
        return self.kept(said)

    def kept(self, said: Said) -> RememberStep:
        """Keep of a turn what the preset keeps of it; there is something to keep."""
        started = time.perf_counter()
        step = RememberStep(preset=self.preset.name, started_at=time.time())
        extraction = self._extracted(said.question, said_at=said.at)
        statements = [
            item
            for item in extraction.statements
            if self.preset.statements or item.asked_for or self._changed_by(item)
        ]
        candidates = [self._candidate(item, said) for item in statements]
        if self.preset.questions and not statements:
            candidates += self._question(said, extraction)
        candidates = self._embedded(candidates)
        step = self._written(step, candidates, said=said, extraction=extraction)
        return replace(step, ms=(time.perf_counter() - started) * 1000)

    def keeps(self, message: str) -> bool:
        """Whether the preset keeps anything of a message: all of them do of what asks for it, but two.

        What changes something that is remembered was asked for with it.
        """
        return self.preset.unasked or (self.preset.commands and bool(self.heard(message)))

    def heard(self, message: str) -> Heard:
        """Whether a message asks for something to be kept, or changes what is, cut into statements once."""
        before = self._last_statement()
        may_ask = _ASKING.search(message) is not None
        may_correct = before is not None and "?" not in message
        if not (may_ask or may_correct):
            return Heard()
        said = without_secrets(message)
        found = statements_in(said, said_at=self.clock(), before=before, zone=self.zone)
        return Heard(
            asks=may_ask and any(item.asked_for for item in found),
            corrects=may_correct and bool(found) and all(self._changed_by(item) for item in found),
        )

    def _changed_by(self, item: Statement) -> bool:
        """Whether something is remembered that is no longer true if this is."""
        if not item.trusted:
            return False
        index = self.indexes.of(self.user)
        with index.lock:
            same = [
                memory.object.casefold()
                for memory in index.about(item.subject, item.predicate)
                if memory.live and memory.origin == "user"
            ]
        said, wrong = item.object.casefold(), item.replaces.casefold()
        if item.single_valued and not item.negated:
            return any(known != said for known in same)
        return (item.ends or item.negated or item.corrects) and bool({said, wrong}.intersection(same))

    def added(self, text: str) -> RememberStep:
        """Keep a text that was not said in a chat, as if it had been asked for in one."""
        return self.asked(ASKING + text, start=len(ASKING))

    def asked(
        self, message: str, *, turn_id: str = "", start: int = 0, end: int | None = None
    ) -> RememberStep:
        """Keep what a user asks to be remembered: all that stands between `start` and `end` of the message.

        What no rule reads as a statement is kept as it stands. Where a secret is in it, nothing is.
        """
        started, at = time.perf_counter(), self.clock()
        step = RememberStep(preset=self.preset.name, started_at=time.time())
        end = len(message) if end is None else end
        said = Said(turn_id=turn_id, question=message, at=at)
        extraction = self._extracted(message, said_at=at)
        if extraction.secrets:
            kinds = tuple(str(kind) for kind in extraction.secrets)
            return replace(step, status="skipped", secrets=kinds, detail=left_out(kinds))
        found = [item for item in extraction.statements if start <= item.start < end]
        candidates = [self._candidate(item, said, asked=True) for item in found]
        for first, last in _gaps(message, [(item.start, item.end) for item in found], start=start, end=end):
            candidates.append(self._verbatim(message, said, start=first, end=last))
        if not turn_id and len(candidates) == 1:  # nobody said it in a sentence: it stays as it was written
            whole = replace(candidates[0].memory, text=message[start:end])
            candidates = [replace(candidates[0], memory=whole)]
        step = self._written(step, self._embedded(candidates), said=said, extraction=extraction)
        return replace(step, ms=(time.perf_counter() - started) * 1000)

    def reworded(self, memory: Memory, text: str, index: UserIndex) -> MemoryChanges:
        """A memory that says something else under its id, and whom and what it names now."""
        said = Said(turn_id="", question=ASKING + text, at=self.clock())
        extraction = self._extracted(said.question, said_at=said.at)
        fresh = (
            self._candidate(extraction.statements[0], said)
            if len(extraction.statements) == 1
            else self._verbatim(said.question, said, start=len(ASKING), end=len(said.question))
        )
        names = ("subject", "predicate", "object", "trusted")
        values = {name: getattr(fresh.memory, name) for name in names}
        after = replace(memory, text=text, stale=False, **values)
        candidate = replace(fresh, memory=after, start=0, end=len(said.question))
        named = self.named(index, said, extraction, kept=[candidate])
        return replace(named, memories=(after,))

    # -- extracting ---------------------------------------------------------------------------------

    def _extracted(self, message: str, *, said_at: float) -> Extraction:
        """By a language model where there is one that answers, else by rules."""
        before = self._last_statement()
        try:
            return extract_with(self.complete, message, said_at=said_at, before=before, zone=self.zone)
        except ModelError:
            return extract_with(None, message, said_at=said_at, before=before, zone=self.zone)

    def _last_statement(self) -> Statement | None:
        """What the user stated last: "actually, it is Y" corrects that."""
        index = self.indexes.of(self.user)
        with index.lock:
            last = next(
                (
                    memory
                    for memory in reversed(index.memories.values())  # in the order of their creation
                    if memory.live and memory.origin == "user" and memory.kind in ("fact", "observation")
                ),
                None,
            )
        if last is None:
            return None
        return Statement(
            text=last.text,
            subject=last.subject,
            predicate=last.predicate,
            object=last.object,
            category=Category(last.category),
            start=0,
            end=len(last.text),
            valid_at=last.created_at if last.valid_at is None else last.valid_at,
            single_valued=single_valued(last.predicate),
        )

    def _candidate(self, item: Statement, said: Said, *, asked: bool = False) -> Candidate:
        asked = asked or item.asked_for
        why = _why(WAS_ASKED_FOR if asked else STATED, item.importance_why)
        kept = Memory(
            id=new_id(),
            user=self.user,
            text=item.text,
            tier="long_term" if asked else self.preset.tier,
            kind="observation" if self.preset.tier == "short_term" and not asked else "fact",
            category=str(item.category),  # type: ignore[arg-type]
            tags=tuple(dict.fromkeys((*item.tags, *(f"{key}={value}" for key, value in item.preferences)))),
            importance=item.importance / 10,
            why=why if item.trusted else INSTRUCTION_NOTE,
            subject=item.subject,
            predicate=item.predicate,
            object=item.object,
            trusted=item.trusted,
            valid_at=item.valid_at,
            invalid_at=item.invalid_at,
            created_at=self.clock(),
            sources=_bound(said, item.start, item.end),
        )
        return Candidate(
            memory=kept,
            single_valued=item.single_valued,
            corrects=item.corrects,
            replaces=item.replaces,
            ends=item.ends,
            negated=item.negated,
            start=item.start,
            end=item.end,
        )

    def _verbatim(self, message: str, said: Said, *, start: int, end: int) -> Candidate:
        text = message[start:end]
        start += len(text) - len(text.lstrip(" \t\n.,;"))
        end -= len(text) - len(text.rstrip())
        text = message[start:end]
        rating = importance_of(text)
        trusted = not reads_as_instruction(text)
        return Candidate(
            memory=Memory(
                id=new_id(),
                user=self.user,
                text=text,
                importance=rating.rating / 10,
                why=_why(WAS_ASKED_FOR, rating.explanation) if trusted else INSTRUCTION_NOTE,
                trusted=trusted,
                valid_at=said.at,
                created_at=self.clock(),
                sources=_bound(said, start, end),
            ),
            start=start,
            end=end,
        )

    def _question(self, said: Said, extraction: Extraction) -> list[Candidate]:
        """The question with its answer, without what the answer has from memory."""
        if extraction.secrets or not said.answer.strip():
            return []
        answer = without_secrets(said.answer)
        if said.recalled:
            index = self.indexes.of(self.user)
            texts = [index.memories[known].text for known in said.recalled if known in index.memories]
            if any(plain(text) in plain(answer) for text in texts):
                return []
        first = " ".join(answer.split())[:MOST_ANSWER]
        trusted = not any(map(reads_as_instruction, (said.question, answer, *_SENTENCE.split(answer))))
        sources = (
            *_bound(said, 0, len(said.question)),
            *(
                MemorySource(
                    source=cited.source,
                    start=cited.start,
                    end=cited.end,
                    quote=cited.quote,
                    file_hash=cited.file_hash,
                )
                for cited in said.citations
            ),
        )
        kept = Memory(
            id=new_id(),
            user=self.user,
            text=f"{said.question.strip()} — {first}",
            kind="qa",
            origin="assistant",
            importance=SALIENCE[said.success],
            why=QUESTION if trusted else INSTRUCTION_NOTE,
            trusted=trusted,
            subject=plain(said.question),
            predicate="answered by",
            object=first,
            success=said.success,
            valid_at=said.at,
            created_at=self.clock(),
            sources=sources,
        )
        return [Candidate(memory=kept, single_valued=True, end=len(said.question))]

    def _embedded(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        memories = self.indexes.embedded([item.memory for item in candidates])
        return [replace(item, memory=memory) for item, memory in zip(candidates, memories, strict=True)]

    # -- writing --------------------------------------------------------------------------------------

    def _written(
        self,
        step: RememberStep,
        candidates: Sequence[Candidate],
        *,
        said: Said,
        extraction: Extraction,
    ) -> RememberStep:
        """One write of all that was decided; the step says what it did."""
        decided: Deciding

        def decide(index: UserIndex) -> MemoryChanges:
            nonlocal decided
            at = self.clock()  # one time for what comes and for what it ends
            decided = Deciding(index, at)
            for candidate in candidates:
                decided.decide(replace(candidate, memory=replace(candidate.memory, created_at=at)))
            kept = [item for item in candidates if item.memory.id in decided.memories]
            named = self.named(index, said, extraction, kept=kept)
            return replace(
                decided.changes,
                entities=named.entities,
                mentions=named.mentions,
                relations=named.relations,
                remembered=(said.turn_id,) if said.turn_id else (),
                rests_on=((said.turn_id, said.question),) if said.turn_id else (),
            )

        written = self.indexes.change(self.user, decide)
        by_outcome: dict[str, list[str]] = {}
        for outcome, memory_id in decided.outcomes:
            by_outcome.setdefault(outcome, []).append(memory_id)
        kinds = tuple(str(kind) for kind in extraction.secrets)
        return replace(
            step,
            added=tuple(by_outcome.get("added", ()))
            + tuple(by_outcome.get("replaced", ()))
            + tuple(by_outcome.get("disputed", ())),
            touched=tuple(by_outcome.get("touched", ())),
            known=tuple(by_outcome.get("known", ())),
            replaced=tuple(by_outcome.get("replaced", ())),
            disputed=tuple(by_outcome.get("disputed", ())),
            untrusted=tuple(memory.id for memory in written.memories if not memory.trusted),
            secrets=kinds,
            entities=len(written.entities),
            relations=len(written.relations),
            by=extraction.by,
            detail=left_out(kinds),
        )

    def named(
        self, index: UserIndex, said: Said, extraction: Extraction, *, kept: Iterable[Candidate]
    ) -> MemoryChanges:
        """Entities, their mentions and relations: of the whole turn, or of what was kept of it alone."""
        spans = [(item.start, item.end, item.memory.id) for item in kept]
        graph = _Graph(self.user, index, at=said.at, turn_id=said.turn_id)
        for entity in extraction.entities:
            memory_id = next((known for start, end, known in spans if start <= entity.start < end), "")
            if self.preset.graph or memory_id:
                graph.mention(entity, memory_id=memory_id)
        for relation in extraction.relations:
            memory_id = next((known for start, end, known in spans if start <= relation.start < end), "")
            if self.preset.graph or memory_id:
                graph.relate(relation, memory_id=memory_id)
        if self.preset.graph and said.answer and not said.from_memory:
            recalled = " ".join(
                normalised(index.memories[known].text) for known in said.recalled if known in index.memories
            )
            found = [item for item in entities_in(said.answer) if item.normalised not in recalled]
            for entity in found[:MOST_ENTITIES]:
                graph.mention(entity, part="answer")
        return graph.changes


class _Graph:
    """Entities, mentions and relations of one text, resolved against those that are known."""

    def __init__(self, user: str, index: UserIndex, *, at: float, turn_id: str) -> None:
        self._user, self._index = user, index
        self._at, self._turn_id = at, turn_id
        self._entities: dict[str, Entity] = {}
        self._mentions: dict[str, Mention] = {}
        self._relations: dict[str, Relation] = {}
        self._names: dict[str, str] = {}

    @property
    def changes(self) -> MemoryChanges:
        """What is new of them."""
        index = self._index
        return MemoryChanges(
            entities=tuple(item for item in self._entities.values() if index.entities.get(item.id) != item),
            mentions=tuple(item for item in self._mentions.values() if item.id not in index.mentions),
            relations=tuple(item for item in self._relations.values() if item.id not in index.relations),
        )

    def mention(self, named: Named, *, memory_id: str = "", part: str = "question") -> str:
        """Note that an entity was spoken of; its id."""
        entity_id = self._resolved(named.name, named.normalised, kind=str(named.kind), aliases=named.aliases)
        mention_id = id_of(self._user, self._turn_id, part, memory_id, entity_id)
        self._mentions[mention_id] = Mention(
            id=mention_id,
            user=self._user,
            entity_id=entity_id,
            at=self._at,
            memory_id=memory_id,
            turn_id=self._turn_id,
        )
        return entity_id

    def relate(self, stated: Stated, *, memory_id: str) -> None:
        """Note a relation; the same one is kept once."""
        subject = self._resolved(stated.subject, normalised(stated.subject))
        thing = self._resolved(stated.object, normalised(stated.object))
        relation_id = id_of(self._user, subject, stated.label, thing)
        self._relations[relation_id] = Relation(
            id=relation_id,
            user=self._user,
            subject_id=subject,
            label=stated.label,
            object_id=thing,
            at=self._at,
            memory_id=memory_id,
            turn_id=self._turn_id,
        )

    def _resolved(self, name: str, key: str, *, kind: str = "", aliases: Sequence[str] = ()) -> str:
        """The id of the entity of that exact name or alias; of a new one where there is none."""
        names = (key, *aliases)
        known = next((self._names[item] for item in names if item in self._names), "")
        if not known:
            found = (self._index.entity_named(item) for item in names)
            known = next((item.id for item in found if item), "") or id_of(self._user, key)
        old = self._entities.get(known) or self._index.entities.get(known)
        old = old or Entity(id=known, user=self._user, name=name, type=kind)
        others = [item for item in names if item not in (normalised(old.name), *old.aliases)]
        self._entities[known] = replace(
            old, type=old.type or kind, aliases=(*old.aliases, *dict.fromkeys(others))
        )
        for item in names:
            self._names[item] = known
        return known


def _gaps(message: str, spans: Sequence[tuple[int, int]], *, start: int, end: int) -> list[tuple[int, int]]:
    """What the spans leave out between `start` and `end`, where it is more than a word or two."""
    edges = [start, *(edge for span in sorted(spans) for edge in span), end]
    gaps = [
        (first, last)
        for first, last in zip(edges[::2], edges[1::2], strict=True)
        if len(message[first:last].split()) >= LEAST_WORDS or not spans
    ]
    return [(first, last) for first, last in gaps if any(map(str.isalnum, message[first:last]))]


def _why(kept: str, rated: str) -> str:
    """Why it was kept, and why it is this important, as sentences; what was asked for needs one."""
    if kept == WAS_ASKED_FOR:
        return kept
    rated = rated.strip().rstrip(".")
    return f"{kept} Importance: {rated}." if rated else kept


def _bound(said: Said, start: int, end: int) -> tuple[MemorySource, ...]:
    """The exact span of the turn; none where the words were not said in one."""
    if not said.turn_id:
        return ()
    quote = said.question[start:end]
    return (MemorySource(turn_id=said.turn_id, part="question", start=start, end=end, quote=quote),)
