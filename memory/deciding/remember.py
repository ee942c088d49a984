"""Writing: what of a turn is kept.

guard → extract → decide → one write, which is decided again where somebody else has written meanwhile
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from functools import partial
from typing import TYPE_CHECKING

from memory.deciding.candidates import MOST_CHARACTERS, WAS_ASKED_FOR, Said, gaps, left_out
from memory.deciding.decisions import Deciding, Outcome
from memory.deciding.forgetting import no_longer_named
from memory.deciding.naming import misnamed, named
from memory.ids import ANSWER, new_id, plain
from memory.options import Preset
from memory.reading.clauses import ALSO_ASKS, clauses_of
from memory.reading.entities import normalised
from memory.reading.guard import reads_as_instruction, without_secrets
from memory.reading.records import Category, Extraction, Statement
from memory.reading.rules import importance_of
from memory.reading.statements import statements_in
from memory.reading.with_model import extract_with
from memory.recalling.user_index import Indexes
from memory.times import now
from pipeline.errors import ModelError
from pipeline.steps.records import RememberStep
from pipeline.stores.memories import Memory, MemoryChanges, MemorySource, turn_changed

if TYPE_CHECKING:
    from memory.reading.records import Extraction
    from memory.recalling.turn_index import Turn
    from memory.recalling.user_index import UserIndex
    from pipeline.answer import Answer

Complete = Callable[[str], str]

LEAST_ASKED = 2  # words of a question that is kept with its answer: "yes" asks nothing
STATED = "You said it."
QUESTION = "You asked it, and it was answered."
SALIENCE = {True: 0.7, None: 0.6, False: 0.5}  # of a question and its answer, by success
MOST_ANSWER = 300  # characters of an answer that are kept with its question
INSTRUCTION_NOTE = "It reads like an instruction: it is kept, and never acted on."

Kept = tuple[Memory, Statement]
"""A memory that may be kept, and what its words say of others."""

_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")

ASKING = "Remember that "
NOTHING_ASKED = "nothing was asked to be remembered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a message does to a memory that keeps only what it is asked to keep."""

    asks: bool = False  # for something to be remembered
    corrects: bool = False  # it states, and does not ask, something else than what is remembered of the same
    says_so: bool = False  # "sorry, …": it says that it corrects something
    changed: tuple[str, ...] = ()  # the memories that it corrects, whatever else it says or asks
    stated: bool = False  # something that is read as a fact

    def __bool__(self) -> bool:
        return self.asks or self.corrects or bool(self.changed)


@dataclass(frozen=True, slots=True)
class Remembering:
    """Keeps what turns say of one user, by a preset's policy; safe to use from several threads."""

    indexes: Indexes
    user: str
    preset: Preset
    complete: Complete | None = None  # asks a language model
    zone: tzinfo = UTC
    clock: Callable[[], float] = field(default=now)
    before: Callable[[], Answer | None] | None = None  # in a chat; elsewhere what was stated last counts
    is_read: Callable[[], bool] | None = None  # whether nobody needs to look at the turn any more

    def turn(self, said: Said) -> RememberStep:
        """Keep of a turn what the preset keeps, and mark it as remembered."""
        if said.from_memory or not self.keeps(said.question):
            step = RememberStep(preset=self.preset.name, started_at=time.time())
            self.indexes.change(self.user, lambda _: MemoryChanges(remembered=(said.turn_id,)))
            return replace(step, status="skipped", detail=NOTHING_ASKED)
        return self.kept(said)

    def kept(self, said: Said) -> RememberStep:
        """Keep of a turn what the preset keeps of it; there is something to keep."""
        started = time.time()
        extraction = self._extracted(said.question, said_at=said.at)
        statements = [
            item
            for item in extraction.statements
            if (self.preset.statements and self._counts(item)) or item.asked_for or self._changed_by(item)
        ]
        candidates = [self._stated(item, said) for item in statements]
        if self.preset.questions and not statements:
            candidates += self._question(said, extraction)
        return self._written(candidates, said=said, extraction=extraction, started=started)

    def keeps(self, message: str) -> bool:
        """Whether the preset keeps anything of a message: all of them do of what asks for it, but two.

        What changes something that is remembered was asked for with it.
        """
        return self.preset.unasked or bool(self.heard(message))

    def heard(self, message: str) -> Heard:
        """Whether a message asks for something to be kept, or changes what is, cut into statements once."""
        if not self.preset.commands:
            return Heard()
        read = statements_in(
            without_secrets(message),
            said_at=self.clock(),
            before=self._stated_before(),
            zone=self.zone,
            people=self._people(),
        )
        found = [item for item in read if self._counts(item)]
        changed = [self._changed_by(item) for item in found]
        asks = "?" in message or ALSO_ASKS.search(message) is not None
        corrects = bool(changed) and all(changed) and not asks
        return Heard(
            asks=any(item.asked_for for item in found),
            corrects=corrects,
            says_so=corrects and all(item.corrects for item in found),
            changed=tuple(memory.id for memories in changed for memory in memories),
            stated=any(item.subject for item in read),
        )

    def _counts(self, item: Statement) -> bool:
        """Whether a statement is one: a correction of whatever is one where it changes what is remembered."""
        return not item.only_of_known or item.asked_for or bool(self._changed_by(item))

    def _changed_by(self, item: Statement) -> tuple[Memory, ...]:
        """What the user said that is no longer true if this is.

        A correction that says what is known is one, too: it is answered like the one before it.
        """
        if not item.trusted:
            return ()
        index = self.indexes.of(self.user)
        memory, _ = self._stated(item, Said(turn_id="", question=item.text))
        with index.lock:
            contradicted = Deciding(index=index, now=self.clock()).contradicted(memory, item)
            same = index.about(item.subject, item.predicate) if item.corrects else []
        known = [old for old in same if self._holds(old) and plain(old.object) == plain(item.object)]
        if not item.predicate:  # "not zsh, but fish": the very object that it names
            contradicted = [
                old for old in contradicted if item.ends or plain(old.object) == plain(item.replaces)
            ]
        return tuple(memory for memory in (*contradicted, *known) if memory.origin == "user")

    def of_turn(self, turn: Turn) -> RememberStep:
        """Keep what was said: the user's message as one that asks for it, another's as it stands."""
        if turn.role == "user" and not turn.speaker:
            return self.asked(turn.text, turn_id=turn.id, later=True)
        words = f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
        started, said = time.time(), Said(turn_id="", question=words, at=self.clock())
        extraction = self._extracted(words, said_at=said.at)
        if extraction.secrets:
            return self._refused(extraction, started=started)
        memory, statement = self._verbatim(words, said, start=0, end=len(words))
        source = MemorySource(turn_id=turn.id.removesuffix(ANSWER), end=len(words), quote=words)
        if turn.role == "assistant":
            source = replace(source, part="answer")
        memory = replace(memory, origin=turn.role, sources=(source,))
        return self._written([(memory, statement)], said=said, extraction=extraction, started=started)

    def asked(
        self, message: str, *, turn_id: str = "", start: int = 0, end: int | None = None, later: bool = False
    ) -> RememberStep:
        """Keep what a user asks to be remembered: all that stands between `start` and `end` of the message.

        `later` where the message does not ask itself: it is read as one that does.
        What no rule reads as a statement is kept as it stands. Where a secret is in it, nothing is.
        """
        started, at = time.time(), self.clock()
        end = len(message) if end is None else end
        said = Said(turn_id=turn_id, question=message, at=at)
        extraction = self._extracted(message, said_at=at, asked_for=later)
        if extraction.secrets:
            return self._refused(extraction, started=started)
        found = [item for item in extraction.statements if start <= item.start < end]
        candidates = [self._stated(item, said, asked=True) for item in found]
        for first, last in gaps(message, [(item.start, item.end) for item in found], start=start, end=end):
            candidates.append(self._verbatim(message, said, start=first, end=last))
        if not turn_id and len(candidates) == 1:  # nobody said it in a sentence: it stays as it was written
            memory, statement = candidates[0]
            candidates = [(replace(memory, text=message[start:end]), statement)]
        return self._written(candidates, said=said, extraction=extraction, started=started)

    def rewording(self, text: str) -> tuple[Said, Extraction, Kept]:
        """What a text says that is to take the place of a memory's; may ask a language model."""
        said = Said(turn_id="", question=text, at=self.clock())
        extraction = self._extracted(text, said_at=said.at, asked_for=True)
        read = (
            self._stated(extraction.statements[0], said)
            if len(extraction.statements) == 1
            else self._verbatim(text, said, start=0, end=len(text))
        )
        return said, extraction, read

    # -- what may be kept ---------------------------------------------------------------------------

    def _stated(self, item: Statement, said: Said, *, asked: bool = False) -> Kept:
        """A statement; `asked` where the user asked for it to be kept."""
        asked = asked or item.asked_for
        rated = item.importance_why.strip().rstrip(".")
        why = WAS_ASKED_FOR if asked else f"{STATED} Importance: {rated}." if rated else STATED
        kept = Memory(
            id=new_id(),
            user=self.user,
            text=item.whole or item.text,
            tier="long_term" if asked else self.preset.tier,
            kind="observation" if self.preset.tier == "short_term" and not asked else "fact",
            category=str(item.category),  # type: ignore[arg-type]
            importance=item.importance / 10,
            why=why if item.trusted else INSTRUCTION_NOTE,
            subject=item.subject,
            predicate=item.predicate,
            object=item.object,
            trusted=item.trusted,
            valid_at=item.valid_at,
            invalid_at=item.invalid_at,
            created_at=self.clock(),
            sources=said.span(item.start, item.end),
        )
        return kept, item

    def _verbatim(self, message: str, said: Said, *, start: int, end: int) -> Kept:
        """What no rule reads, as it stands in the message."""
        start = end - len(message[start:end].lstrip(" \t\n.,;"))
        text = message[start:end].rstrip()
        rating = importance_of(text)
        item = Statement(
            text=text,
            start=start,
            end=start + len(text),
            valid_at=said.at,
            importance=rating.rating,
            trusted=not reads_as_instruction(text),
        )
        return self._stated(item, said, asked=True)

    def _question(self, said: Said, extraction: Extraction) -> list[Kept]:
        """The question with its answer, without what the answer has from memory."""
        asked = len(said.question.split()) >= LEAST_ASKED and len(said.question) <= MOST_CHARACTERS // 2
        if extraction.secrets or not said.answer.strip() or not asked:
            return []
        if any(True for _ in clauses_of(said.question)):  # it states something
            return []
        answer = without_secrets(said.answer)
        known = self.indexes.of(self.user).memories
        if any(plain(known[each].text) in plain(answer) for each in said.recalled if each in known):
            return []
        first = " ".join(answer.split())[:MOST_ANSWER]
        trusted = not any(map(reads_as_instruction, (said.question, answer, *_SENTENCE.split(answer))))
        cited = (
            MemorySource(
                source=one.source, start=one.start, end=one.end, quote=one.quote, file_hash=one.file_hash
            )
            for one in said.citations
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
            sources=(*said.span(0, len(said.question)), *cited),
        )
        end = len(said.question)
        return [(kept, Statement(subject=kept.subject, predicate=kept.predicate, object=first, end=end))]

    # -- extracting ---------------------------------------------------------------------------------

    def _extracted(self, message: str, *, said_at: float, asked_for: bool = False) -> Extraction:
        """By a language model where there is one that answers, else by rules."""
        read = partial(
            extract_with,
            message=message,
            said_at=said_at,
            before=self._stated_before(),
            zone=self.zone,
            people=self._people(),
            asked_for=asked_for,
        )
        try:
            return read(self.complete)
        except ModelError:
            return read(None)

    def _people(self) -> Sequence[str]:
        """Who are known by name."""
        entities = self.indexes.of(self.user).entities.values()
        return [normalised(item.name) for item in list(entities) if item.type == "person"]

    def _stated_before(self) -> Statement | None:
        """What "actually, it is Y" corrects: what was stated last, in a chat by the turn before."""
        before = self.before() if self.before is not None else None
        last = self._last_stated() if self.before is None else self._of_turn(before) if before else None
        return None if last is None else _as_statement(last)

    def _last_stated(self, turn_id: str = "") -> Memory | None:
        """The latest statement of the user that holds, of all turns or of one."""
        index = self.indexes.of(self.user)
        with index.lock:
            return next(
                (
                    memory
                    for memory in reversed(index.memories.values())  # in the order of their creation
                    if self._holds(memory)
                    and memory.origin == "user"
                    and memory.kind in ("fact", "observation")
                    and (not turn_id or any(source.turn_id == turn_id for source in memory.sources))
                ),
                None,
            )

    def _of_turn(self, answer: Answer) -> Memory | None:
        """What a turn stated, or else the one memory that it told."""
        if stated := self._last_stated(answer.turn_id):
            return stated
        memories = self.indexes.of(self.user).memories
        told = answer.recalled if answer.mode == "memory" else ()
        recalled = memories.get(told[0]) if len(told) == 1 else None
        return recalled if recalled and self._holds(recalled) and recalled.origin == "user" else None

    def _holds(self, memory: Memory) -> bool:
        """Whether a memory is believed, and not over."""
        over = memory.invalid_at is not None and memory.invalid_at <= self.clock()
        return memory.expired_at is None and not over

    # -- writing --------------------------------------------------------------------------------------

    def _refused(self, extraction: Extraction, *, started: float) -> RememberStep:
        """What is said where nothing is kept because of a secret."""
        kinds = tuple(map(str, extraction.secrets))
        step = RememberStep(preset=self.preset.name, started_at=started, status="skipped", secrets=kinds)
        return replace(step, detail=left_out(kinds))

    def _written(
        self, candidates: Sequence[Kept], *, said: Said, extraction: Extraction, started: float
    ) -> RememberStep:
        """One write of all that was decided; the step says what it did."""
        memories = self.indexes.embedded([memory for memory, _ in candidates])
        statements = [statement for _, statement in candidates]
        decided: Deciding

        def decide(index: UserIndex) -> MemoryChanges:
            nonlocal decided
            if self.is_read is not None and self.is_read():  # while a model read it, everything was forgotten
                raise turn_changed()
            at = self.clock()  # one time for what comes and for what it ends
            decided = Deciding(index=index, now=at)
            for memory, statement in zip(memories, statements, strict=True):
                decided.decide(replace(memory, created_at=at), statement)
            kept = [item for item in candidates if item[0].id in decided.memories]
            new = named(index, said, extraction, kept=kept, whole=self.preset.graph)
            gone = [known for wrong in decided.wrong for known in no_longer_named(index, wrong, by=new)]
            if self.before is not None and (before := self.before()):
                gone += sorted(misnamed(index, extraction, turn_id=before.turn_id))
            return replace(
                decided.changes,
                entities=new.entities,
                mentions=new.mentions,
                relations=new.relations,
                removed=tuple(dict.fromkeys(gone)),
                remembered=(said.turn_id,) if said.turn_id else (),
                rests_on=((said.turn_id, said.question),) if said.turn_id else (),
            )

        written = self.indexes.change(self.user, decide)

        def ids(*outcomes: Outcome) -> tuple[str, ...]:
            return tuple(
                known for wanted in outcomes for outcome, known in decided.outcomes if outcome == wanted
            )

        kinds = tuple(map(str, extraction.secrets))
        return RememberStep(
            preset=self.preset.name,
            started_at=started,
            ms=(time.time() - started) * 1000,
            added=ids("added", "replaced", "disputed"),
            touched=ids("touched"),
            known=ids("known"),
            replaced=ids("replaced"),
            disputed=ids("disputed"),
            untrusted=tuple(memory.id for memory in written.memories if not memory.trusted),
            secrets=kinds,
            entities=len(written.entities),
            relations=len(written.relations),
            by=extraction.by,
            detail=" ".join(filter(None, [left_out(kinds), understood(statements)])),
        )


def understood(statements: Sequence[Statement]) -> str:
    """What was read, by what it is about, and never in its words: those can be forgotten."""
    about = [
        item.predicate + (" (over)" if item.ends else " (planned)" if item.planned else "")
        for item in statements
        if item.predicate
    ]
    return f"Read: {', '.join(about)}." if about else ""


def _as_statement(memory: Memory) -> Statement:
    return Statement(
        text=memory.text,
        subject=memory.subject,
        predicate=memory.predicate,
        object=memory.object,
        category=Category(memory.category),
        start=0,
        end=len(memory.text),
        valid_at=memory.created_at if memory.valid_at is None else memory.valid_at,
    )
