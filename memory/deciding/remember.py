"""Writing: what of a message is kept.

hear → keep: guard, decide, one write, which is decided again where somebody else has written meanwhile
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from memory.deciding.decisions import Deciding, holds
from memory.deciding.forgetting import no_longer_named
from memory.deciding.heard import MOST_CHARACTERS, Heard, left_out
from memory.deciding.naming import misnamed, named
from memory.ids import ANSWER, new_id, plain
from memory.reading.clauses import clauses_of, speech
from memory.reading.commands import asked_of_memory
from memory.reading.entities import normalised
from memory.reading.guard import reads_as_instruction, without_secrets
from memory.reading.records import Category, Statement
from memory.reading.rules import importance_of
from memory.reading.statements import statements_in
from memory.reading.with_model import stated_by
from memory.times import begun
from pipeline.answering.citations import without_markers
from pipeline.answering.recollection import looked_up
from pipeline.errors import ModelError
from pipeline.steps.records import Step
from pipeline.stores.memories import Memory, MemoryChanges, MemorySource, turn_changed

if TYPE_CHECKING:
    from datetime import tzinfo

    from memory.options import Preset
    from memory.recalling.turn_index import Turn as SaidTurn
    from memory.recalling.user_index import Indexes, UserIndex
    from pipeline.answer import Answer
    from pipeline.stores.conversations import Turn

Complete = Callable[[str], str]

LEAST_ASKED = 2  # words of a question that is kept with its answer: "yes" asks nothing
STATED = "You said it."
WAS_ASKED_FOR = "You asked to remember it."
QUESTION = "You asked it, and it was answered."
SALIENCE = {True: 0.7, None: 0.6, False: 0.5}  # of a question and its answer, by success
MOST_ANSWER = 300  # characters of an answer that are kept with its question
INSTRUCTION_NOTE = "It reads like an instruction: it is kept, and never acted on."

Kept = tuple[Memory, Statement]
"""A memory that may be kept, and what its words say of others."""

_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")

ASKING = "Remember that "
NOTHING_ASKED = "nothing was asked to be remembered"


@dataclass(frozen=True, slots=True)
class Remembering:
    """Keeps what messages of one user say, by a preset's policy; safe to use from several threads."""

    indexes: Indexes
    user: str
    preset: Preset
    complete: Complete | None  # asks a language model
    zone: tzinfo
    clock: Callable[[], float]

    # -- reading a message -----------------------------------------------------------------------------------

    def hear(
        self,
        message: str,
        *,
        turn_id: str = "",
        at: float | None = None,
        talk: Sequence[Turn] | None = None,
        asked_for: bool = False,
    ) -> Heard:
        """A message as the rules read it; `talk`: the turns before it, None where it is in no conversation.

        What "actually, it is Y" corrects was said or told in the turn before, or else was stated last.
        """
        heard = Heard(
            message=message,
            at=self.clock() if at is None else at,
            turn_id=turn_id,
            before=talk[-1].answer if talk else None,
            asked_for=asked_for,
            command=asked_of_memory(message),
        )
        if talk is not None and not self.preset.recalls:
            return heard
        index = self.indexes.of(self.user)
        with index.lock:
            version, entities = index.version, index.entities.values()
            people = tuple(normalised(item.name) for item in entities if item.type == "person")
            stated = self._last_stated() if talk is None else self._stated_in(heard.before)
        found = statements_in(
            heard.safe,
            said_at=heard.at,
            before=_as_statement(stated) if stated else None,
            zone=self.zone,
            people=people,
            asked_for=asked_for,
        )
        return self._weighed(replace(heard, people=people, statements=found, version=version))

    def by_model(self, heard: Heard) -> Heard:
        """What a message states as a language model reads it, where there is one that answers."""
        if (complete := self.complete) is None:
            return heard
        rules, zone = heard.statements, self.zone
        try:
            found = stated_by(
                complete, heard.safe, by_rules=rules, said_at=heard.at, zone=zone, asked_for=heard.asked_for
            )
        except ModelError:
            return heard
        return heard if found is None else self._weighed(replace(heard, statements=found, by="model"))

    def _weighed(self, heard: Heard) -> Heard:
        """What of a message the preset keeps, and what of the memory it puts right.

        A correction of whatever is remembered is a statement only where it changes something.
        """
        if not self.preset.recalls:
            return heard
        changes = [(item, self._changed_by(item)) for item in heard.statements]
        counted = [(item, old) for item, old in changes if not item.only_of_known or item.asked_for or old]
        asks = "?" in heard.message or speech()["also_asks"].search(heard.message) is not None
        corrects = bool(counted) and all(old for _, old in counted) and not asks
        if self.preset.statements:  # kept unasked: only what says that it corrects something does
            corrects = corrects and all(item.corrects for item, _ in counted)
        return replace(
            heard,
            kept=tuple(item for item, old in counted if self.preset.statements or item.asked_for or old),
            changed=tuple(memory.id for _, old in counted for memory in old),
            corrects=corrects,
        )

    def _changed_by(self, item: Statement) -> Sequence[Memory]:
        """What the user said that is no longer true if this is.

        A correction that says what is known is one, too: it is answered like the one before it.
        """
        if not item.trusted:
            return ()
        index, now = self.indexes.of(self.user), self.clock()
        memory, _ = self._stated(item)
        with index.lock:
            contradicted = Deciding(index=index, now=now).contradicted(memory, item)
            same = index.about(item.subject, item.predicate) if item.corrects else []
        known = [old for old in same if holds(old, now) and plain(old.object) == plain(item.object)]
        if not item.predicate:  # "not zsh, but fish": the very object that it names
            contradicted = [
                old for old in contradicted if item.ends or plain(old.object) == plain(item.replaces)
            ]
        return [memory for memory in (*contradicted, *known) if memory.origin == "user"]

    def _last_stated(self, turn_id: str = "") -> Memory | None:
        """The latest statement of the user that holds, of all turns or of one."""
        latest = reversed(self.indexes.of(self.user).memories.values())  # in the order of their creation
        stated = (one for one in latest if one.kind in ("fact", "observation") and one.origin == "user")
        if turn_id:
            stated = (one for one in stated if any(source.turn_id == turn_id for source in one.sources))
        return next((one for one in stated if holds(one, self.clock())), None)

    def _stated_in(self, answer: Answer | None) -> Memory | None:
        """What a turn stated, or else the one memory that it told."""
        if answer is None:
            return None
        if stated := self._last_stated(answer.turn_id):
            return stated
        told = answer.recalled if answer.mode == "memory" else ()
        recalled = self.indexes.of(self.user).memories.get(told[0]) if len(told) == 1 else None
        return recalled if recalled and holds(recalled, self.clock()) and recalled.origin == "user" else None

    # -- keeping what it says --------------------------------------------------------------------------------

    def keep(
        self, heard: Heard, turn: Turn | None = None, *, is_over: Callable[[], bool] = lambda: False
    ) -> Step:
        """Keep of a message what the preset keeps, with its answer, and mark its turn as remembered.

        Raises `TurnChanged` where `is_over` says at the write that nothing is to be kept of it any more.
        """
        answer = turn.answer if turn else None
        from_memory = answer and answer.mode in ("memory", "reply") and not looked_up(answer)
        if from_memory or not (self.preset.unasked or heard.kept):  # nothing to learn from
            seen = (heard.turn_id,) if heard.turn_id else ()
            self.indexes.change(self.user, lambda _: MemoryChanges(remembered=seen))
            return self._skipped(NOTHING_ASKED)
        heard = self.by_model(heard)
        candidates = [self._stated(item, heard) for item in heard.kept]
        if turn is not None and self.preset.questions and not candidates:
            candidates = self._question(heard, turn)
        return self._written(candidates, heard, turn=turn, is_over=is_over)

    def keep_asked(self, heard: Heard, *, start: int = 0, end: int | None = None) -> Step:
        """Keep what a user asks to be remembered: all that stands between `start` and `end` of the message.

        What is read as no statement is kept as it stands. Where a secret is in it, nothing is.
        """
        if heard.secrets:
            return self._skipped(left_out(heard.secrets), heard.secrets)
        heard, end = self.by_model(heard), len(heard.message) if end is None else end
        asked = [item for item in heard.statements if start <= item.start < end]
        candidates = [self._stated(item, heard, asked=True) for item in asked]
        candidates += [self._verbatim(heard, *gap) for gap in heard.unread(start, end)]
        if not heard.turn_id and len(candidates) == 1:  # said in no sentence: it stays as it was written
            memory, statement = candidates[0]
            candidates = [(replace(memory, text=heard.message[start:end]), statement)]
        return self._written(candidates, heard)

    def keep_turn(self, turn: SaidTurn) -> Step:
        """Keep what was said: the user's message as one that asks for it, another's as it stands."""
        if turn.role == "user" and not turn.speaker:
            return self.keep_asked(self.hear(turn.text, turn_id=turn.id, asked_for=True))
        words = f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
        heard = Heard(message=words, at=self.clock())
        if heard.secrets:
            return self._skipped(left_out(heard.secrets), heard.secrets)
        memory, statement = self._verbatim(heard, 0, len(words))
        part: Literal["question", "answer"] = "answer" if turn.role == "assistant" else "question"
        where = turn.id.removesuffix(ANSWER)
        source = MemorySource(turn_id=where, part=part, end=len(words), quote=words)
        memory = replace(memory, origin=turn.role, sources=(source,))
        return self._written([(memory, statement)], heard)

    def rewording(self, text: str) -> tuple[Heard, Kept]:
        """What a text says that is to take the place of a memory's; may ask a language model."""
        heard = self.by_model(self.hear(text, asked_for=True))
        one = self._stated(heard.statements[0], heard) if len(heard.statements) == 1 else None
        return heard, one or self._verbatim(heard, 0, len(text))

    def _skipped(self, why: str, secrets: tuple[str, ...] = ()) -> Step:
        return Step(
            "remember", status="skipped", detail=why, data={"preset": self.preset.name, "secrets": [*secrets]}
        )

    def _stated(self, item: Statement, heard: Heard | None = None, *, asked: bool = False) -> Kept:
        """A statement of a message as a memory; `asked` where the user asked for it to be kept."""
        asked = asked or item.asked_for
        rated = item.importance_why.strip().rstrip(".")
        why = WAS_ASKED_FOR if asked else f"{STATED} Importance: {rated}." if rated else STATED
        kept = Memory(
            id=new_id(),
            user=self.user,
            text=item.text,
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
            sources=heard.span(item.start, item.end) if heard else (),
        )
        return kept, item

    def _verbatim(self, heard: Heard, start: int, end: int) -> Kept:
        """What is read as no statement, as it stands in the message."""
        start = end - len(heard.message[start:end].lstrip(" \t\n.,;"))
        text = heard.message[start:end].rstrip()
        item = Statement(
            text=text,
            start=start,
            end=start + len(text),
            valid_at=heard.at,
            importance=importance_of(text).rating,
            trusted=not reads_as_instruction(text),
        )
        return self._stated(item, heard, asked=True)

    def _question(self, heard: Heard, turn: Turn) -> list[Kept]:
        """The question with its answer, without what the answer has from memory."""
        question, answer = heard.message, without_secrets(_answered(turn.answer))
        asks = len(question.split()) >= LEAST_ASKED and len(question) <= MOST_CHARACTERS // 2
        states = any(True for _ in clauses_of(question))
        known, recalled = self.indexes.of(self.user).memories, turn.answer.recalled
        told = any(plain(known[each].text) in plain(answer) for each in recalled if each in known)
        if heard.secrets or not answer.strip() or states or told or not asks:
            return []
        first = " ".join(answer.split())[:MOST_ANSWER]
        trusted = not any(map(reads_as_instruction, (question, answer, *_SENTENCE.split(answer))))
        success = {1: True, -1: False}.get(turn.feedback or 0)
        names = ("source", "start", "end", "quote", "file_hash")
        cited = (MemorySource(**{of: getattr(one, of) for of in names}) for one in turn.answer.citations)
        kept = Memory(
            id=new_id(),
            user=self.user,
            text=f"{question.strip()} — {first}",
            kind="qa",
            origin="assistant",
            importance=SALIENCE[success],
            why=QUESTION if trusted else INSTRUCTION_NOTE,
            trusted=trusted,
            subject=plain(question),
            predicate="answered by",
            object=first,
            success=success,
            valid_at=heard.at,
            created_at=self.clock(),
            sources=(*heard.span(0, len(question)), *cited),
        )
        said = Statement(subject=kept.subject, predicate=kept.predicate, object=first, end=len(question))
        return [(kept, said)]

    def _written(
        self,
        candidates: Sequence[Kept],
        heard: Heard,
        *,
        turn: Turn | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Step:
        """One write of all that was decided; the step says what it did."""
        memories = self.indexes.embedded([memory for memory, _ in candidates])
        statements = [statement for _, statement in candidates]
        answered, recalled = (_answered(turn.answer), turn.answer.recalled) if turn else ("", ())
        decided: Deciding

        def decide(index: UserIndex) -> MemoryChanges:
            nonlocal decided
            if is_over():  # while a model read it, everything was forgotten
                raise turn_changed()
            at = self.clock()  # one time for what comes and for what it ends
            decided = Deciding(index=index, now=at)
            for memory, statement in zip(memories, statements, strict=True):
                decided.decide(replace(memory, created_at=at), statement)
            kept = [item for item in candidates if item[0].id in decided.memories]
            new = named(
                index, heard, kept=kept, whole=self.preset.depth > 0, answered=answered, recalled=recalled
            )
            gone = [known for wrong in decided.wrong for known in no_longer_named(index, wrong, by=new)]
            gone += sorted(misnamed(index, heard))
            return replace(
                decided.changes,
                entities=new.entities,
                mentions=new.mentions,
                relations=new.relations,
                removed=tuple(dict.fromkeys(gone)),
                remembered=(heard.turn_id,) if heard.turn_id else (),
                rests_on=((heard.turn_id, heard.message),) if heard.turn_id else (),
            )

        written = self.indexes.change(self.user, decide)
        data = {
            "preset": self.preset.name,
            "added": [*decided.ids("added", "replaced", "disputed")],
            "touched": [*decided.ids("touched")],  # said again in other words
            "known": [*decided.ids("known")],  # said again
            "replaced": [*decided.ids("replaced")],  # new memories that replace an older one
            "disputed": [*decided.ids("disputed")],
            "untrusted": [memory.id for memory in written.memories if not memory.trusted],
            "secrets": [*heard.secrets],  # kinds of secrets that were left out
            "entities": len(written.entities),
            "relations": len(written.relations),
            "by": heard.by,  # "rules" or "model"
        }
        detail = " ".join(filter(None, [left_out(heard.secrets), _understood(statements)]))
        return Step("remember", detail=detail, data=data)


def _as_statement(memory: Memory) -> Statement:
    return Statement(
        text=memory.text,
        subject=memory.subject,
        predicate=memory.predicate,
        object=memory.object,
        category=Category(memory.category),
        end=len(memory.text),
        valid_at=begun(memory),
    )


def _answered(answer: Answer) -> str:
    """What an answer says that was not remembered before; "" where it answers nothing."""
    closest = answer.mode == "quote" and answer.verdict == "closest"
    nothing = answer.abstained or answer.mode == "memory" or closest
    return "" if nothing else without_markers(answer.text)


def _understood(statements: Iterable[Statement]) -> str:
    """What was read, by what it is about, and never in its words: those can be forgotten."""
    about = [
        item.predicate + (" (over)" if item.ends else " (planned)" if item.planned else "")
        for item in statements
        if item.predicate
    ]
    return f"Read: {', '.join(about)}." if about else ""
