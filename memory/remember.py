"""Writing: what of a turn is kept.

guard → extract → decide → one write, which is decided again where somebody else has written meanwhile
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from memory.candidates import Candidates, gaps
from memory.comparing import Candidate
from memory.deciding import Deciding
from memory.extracting import (
    extract_with,
    single_valued,
    statements_in,
    without_secrets,
)
from memory.extracting.clauses import ALSO_ASKS
from memory.extracting.hurried import mended
from memory.extracting.records import Category, Extraction, Statement
from memory.index import plain
from memory.indexes import Indexes
from memory.naming import named
from memory.not_kept import left_out
from memory.presets import Preset
from memory.said import Said
from memory.times import now
from pipeline.errors import AthenaError, ModelError
from pipeline.steps.records import RememberStep
from pipeline.stores.memories import Memory, MemoryChanges, turn_changed

if TYPE_CHECKING:
    from memory.extracting.records import Extraction
    from memory.index import UserIndex

Complete = Callable[[str], str]

_LEANS = re.compile(
    r"\b(?:its?|that|this|he|she|they|not|no|nope|nah|actually|correction|wrong|rather|i meant?|wait|sorry"
    r"|oops|whoops|my bad|mistake)\b"
    r"|['’]s\b|n['’]t\b",
    re.IGNORECASE,
)
"""A word of every message that may correct what was said before without naming it."""
_ONLY_ASKS = re.compile(r"[^.!?;,\n]*\?\s*")
_ASKING = re.compile(r"\brem\w*ber\b|\bforget\b|\bmemori[sz]e\b|\bin mind\b", re.IGNORECASE)

ASKING = "Remember that "
NOTHING_ASKED = "nothing was asked to be remembered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a message does to a memory that keeps only what it is asked to keep."""

    asks: bool = False  # for something to be remembered
    corrects: bool = False  # it states, and does not ask, something else than what is remembered of the same
    says_so: bool = False  # "sorry, …": it says that it corrects something
    changed: tuple[str, ...] = ()  # the memories that it corrects, whatever else it says or asks

    def __bool__(self) -> bool:
        return self.asks or self.corrects or bool(self.changed)


@dataclass(frozen=True, slots=True)
class TurnBefore:
    """The turn before a message: "actually, it is Y" corrects what was stated or recalled in that one."""

    id: str = ""
    recalled: tuple[str, ...] = ()  # where it was about the memory


@dataclass(frozen=True, slots=True)
class Remembering:
    """Keeps what turns say of one user, by a preset's policy; safe to use from several threads."""

    indexes: Indexes
    user: str
    preset: Preset
    complete: Complete | None = None  # asks a language model
    zone: tzinfo = UTC
    clock: Callable[[], float] = field(default=now)
    before: Callable[[], TurnBefore] | None = None  # in a chat; elsewhere what was stated last counts
    is_read: Callable[[], bool] | None = None  # whether nobody needs to look at the turn any more

    def after(self, before: Callable[[], TurnBefore]) -> Remembering:
        """The same in a chat, after the turn `before`."""
        return replace(self, before=before)

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
            if (self.preset.statements and self._counts(item)) or item.asked_for or self._changed_by(item)
        ]
        candidates = [self._candidates.stated(item, said) for item in statements]
        if self.preset.questions and not statements:
            candidates += self._candidates.question(said, extraction, index=self.indexes.of(self.user))
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
        may_ask = _ASKING.search(message) is not None
        may_correct = not _ONLY_ASKS.fullmatch(message) and self._last_stated() is not None
        if not (may_ask or may_correct):
            return Heard()
        before = self._leant_on(message)
        said = without_secrets(message)
        read = statements_in(said, said_at=self.clock(), before=before, zone=self.zone)
        found = [item for item in read if self._counts(item)]
        changed = [self._changed_by(item) for item in found] if may_correct else []
        asks = "?" in message or ALSO_ASKS.search(message) is not None
        corrects = bool(changed) and all(changed) and not asks
        return Heard(
            asks=may_ask and any(item.asked_for for item in found),
            corrects=corrects,
            says_so=corrects and all(item.corrects for item in found),
            changed=tuple(memory.id for memories in changed for memory in memories),
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
        candidate = self._candidates.stated(item, Said(turn_id="", question=item.text))
        with index.lock:
            contradicted = Deciding(index, self.clock()).contradicted(candidate)
            same = index.about(item.subject, item.predicate) if item.corrects else []
        known = [
            memory for memory in same if self._holds(memory) and plain(memory.object) == plain(item.object)
        ]
        if not item.predicate:  # "not zsh, but fish": the very object that it names
            contradicted = [old for old in contradicted if plain(old.object) == plain(item.replaces)]
        return tuple(memory for memory in (*contradicted, *known) if memory.origin == "user")

    def added(self, text: str) -> RememberStep:
        """Keep a text that was not said in a chat, as if it had been asked for in one."""
        return self.asked(ASKING + text, start=len(ASKING))

    def asked(
        self, message: str, *, turn_id: str = "", start: int = 0, end: int | None = None, later: bool = False
    ) -> RememberStep:
        """Keep what a user asks to be remembered: all that stands between `start` and `end` of the message.

        `later` where the message does not ask itself: it is read as one that does.
        What no rule reads as a statement is kept as it stands. Where a secret is in it, nothing is.
        """
        started, at = time.perf_counter(), self.clock()
        step = RememberStep(preset=self.preset.name, started_at=time.time())
        end = len(message) if end is None else end
        said = Said(turn_id=turn_id, question=message, at=at)
        lead = ASKING if later else ""
        extraction = self._extracted(lead + message, said_at=at).moved(-len(lead))
        if extraction.secrets:
            kinds = tuple(str(kind) for kind in extraction.secrets)
            return replace(step, status="skipped", secrets=kinds, detail=left_out(kinds))
        found = [item for item in extraction.statements if start <= item.start < end]
        candidates = [self._candidates.stated(item, said, asked=True) for item in found]
        for first, last in gaps(message, [(item.start, item.end) for item in found], start=start, end=end):
            candidates.append(self._candidates.verbatim(message, said, start=first, end=last))
        if not turn_id and len(candidates) == 1:  # nobody said it in a sentence: it stays as it was written
            whole = replace(candidates[0].memory, text=message[start:end])
            candidates = [replace(candidates[0], memory=whole)]
        step = self._written(step, self._embedded(candidates), said=said, extraction=extraction)
        return replace(step, ms=(time.perf_counter() - started) * 1000)

    def rewording(self, text: str) -> Rewording:
        """What a text says that is to take the place of a memory's; may ask a language model."""
        said = Said(turn_id="", question=ASKING + text, at=self.clock())
        extraction = self._extracted(said.question, said_at=said.at)
        read = (
            self._candidates.stated(extraction.statements[0], said)
            if len(extraction.statements) == 1
            else self._candidates.verbatim(said.question, said, start=len(ASKING), end=len(said.question))
        )
        return Rewording(text, said, extraction, read)

    @property
    def _candidates(self) -> Candidates:
        return Candidates(self.user, self.preset, self.clock)

    # -- extracting ---------------------------------------------------------------------------------

    def _extracted(self, message: str, *, said_at: float) -> Extraction:
        """By a language model where there is one that answers, else by rules."""
        before = self._leant_on(message)
        try:
            return extract_with(self.complete, message, said_at=said_at, before=before, zone=self.zone)
        except ModelError:
            return extract_with(None, message, said_at=said_at, before=before, zone=self.zone)

    def _leant_on(self, message: str) -> Statement | None:
        """What "actually, it is Y" corrects: what was stated before, in a chat by the turn before."""
        last = self._last_stated()
        if last is None or not _LEANS.search(mended(message).text):
            return None
        if self.before is not None:
            last = self._of_turn(self.before())
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

    def _of_turn(self, turn: TurnBefore) -> Memory | None:
        """What a turn stated, or else the one memory that it recalled."""
        if turn.id and (stated := self._last_stated(turn.id)):
            return stated
        memories = self.indexes.of(self.user).memories
        recalled = memories.get(turn.recalled[0]) if len(turn.recalled) == 1 else None
        return recalled if recalled and self._holds(recalled) and recalled.origin == "user" else None

    def _holds(self, memory: Memory) -> bool:
        """Whether a memory is believed, and not over."""
        over = memory.invalid_at is not None and memory.invalid_at <= self.clock()
        return memory.expired_at is None and not over

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
            if self.is_read is not None and self.is_read():  # while a model read it, everything was forgotten
                raise turn_changed()
            at = self.clock()  # one time for what comes and for what it ends
            decided = Deciding(index, at)
            for candidate in candidates:
                decided.decide(replace(candidate, memory=replace(candidate.memory, created_at=at)))
            kept = [item for item in candidates if item.memory.id in decided.memories]
            new = named(index, said, extraction, kept=kept, whole=self.preset.graph)
            return replace(
                decided.changes,
                entities=new.entities,
                mentions=new.mentions,
                relations=new.relations,
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
        single_valued=single_valued(memory.predicate),
    )


@dataclass(frozen=True, slots=True)
class Rewording:
    """What a text says, as an extraction of it as a request to remember it has it."""

    text: str
    said: Said
    extraction: Extraction
    read: Candidate

    def of(self, memory: Memory) -> Memory:
        """The memory, saying this; without a vector of its own."""
        names = ("subject", "predicate", "object", "trusted")
        values = {name: getattr(self.read.memory, name) for name in names}
        return replace(memory, text=self.text, stale=False, **values)

    def changes(self, index: UserIndex, after: Memory, *, whole_graph: bool) -> MemoryChanges:
        """The memory as it is `after` this, and whom and what it names now; raises `AthenaError` for a twin.

        A store keeps no two live memories of one tier and text.
        """
        for other in index.with_text(self.text):
            if after.live and other.live and other.tier == after.tier and other.id != after.id:
                raise AthenaError(
                    f"That is remembered already: {other.id}.",
                    f"To keep it once, use `athena memory forget {after.id}`.",
                )
        candidate = replace(self.read, memory=after, start=0, end=len(self.said.question))
        new = named(index, self.said, self.extraction, kept=[candidate], whole=whole_graph)
        return replace(new, memories=(after,))
