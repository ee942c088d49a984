"""What may be kept of a turn, as memories that are still to be decided on; and what is not kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.ids import new_id, plain
from memory.options import Preset
from memory.reading.clauses import clauses_of
from memory.reading.guard import reads_as_instruction, without_secrets
from memory.reading.records import Statement
from memory.reading.rules import importance_of
from pipeline.answering.recollection import looked_up
from pipeline.errors import AthenaError
from pipeline.stores.memories import Memory, MemorySource

if TYPE_CHECKING:
    from memory.reading.records import Extraction
    from memory.recalling.user_index import UserIndex
    from pipeline.answer import Answer, Citation

LEAST_WORDS = 3  # of what is kept although no rule reads it
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


@dataclass(frozen=True, slots=True)
class Candidates:
    """Makes memories of what one user says, by a preset."""

    user: str
    preset: Preset
    clock: Callable[[], float]

    def stated(self, item: Statement, said: Said, *, asked: bool = False) -> Kept:
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
            tags=item.tags,
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

    def verbatim(self, message: str, said: Said, *, start: int, end: int) -> Kept:
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
        return self.stated(item, said, asked=True)

    def question(self, said: Said, extraction: Extraction, *, index: UserIndex) -> list[Kept]:
        """The question with its answer, without what the answer has from memory."""
        asked = len(said.question.split()) >= LEAST_ASKED and len(said.question) <= MOST_CHARACTERS // 2
        if extraction.secrets or not said.answer.strip() or not asked:
            return []
        if any(True for _ in clauses_of(said.question)):  # it states something
            return []
        answer = without_secrets(said.answer)
        if said.recalled:
            texts = [index.memories[known].text for known in said.recalled if known in index.memories]
            if any(plain(text) in plain(answer) for text in texts):
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


def gaps(message: str, spans: Sequence[tuple[int, int]], *, start: int, end: int) -> list[tuple[int, int]]:
    """What the spans leave out between `start` and `end`, where it is more than a word or two."""
    edges = [start, *(edge for span in sorted(spans) for edge in span), end]
    gaps = [
        (first, last)
        for first, last in zip(edges[::2], edges[1::2], strict=True)
        if len(message[first:last].split()) >= LEAST_WORDS or not spans
    ]
    return [(first, last) for first, last in gaps if any(map(str.isalnum, message[first:last]))]


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
        told = answer.mode == "memory"  # what it tells was remembered before
        answered = not (answer.abstained or told) and (answer.mode != "quote" or answer.verdict != "closest")
        helped = {1: True, -1: False}.get(feedback or 0, None if answered else False)
        return cls(
            turn_id=answer.turn_id,
            question=answer.question,
            answer=text if answered else "",
            at=at,
            from_memory=answer.mode in ("memory", "reply") and not looked_up(answer),
            citations=answer.citations,
            recalled=answer.recalled,
            success=helped,
        )

    def span(self, start: int, end: int) -> tuple[MemorySource, ...]:
        """The exact span of the turn; none where the words were not said in one."""
        if not self.turn_id:
            return ()
        quote = self.question[start:end]
        return (MemorySource(turn_id=self.turn_id, part="question", start=start, end=end, quote=quote),)


MOST_CHARACTERS = 10_000  # of one memory


def refuse_long(text: str, which: str = "This memory") -> None:
    """Raise `AthenaError` for a text that is too long to be one memory."""
    if len(text) > MOST_CHARACTERS:
        raise AthenaError(
            f"{which} has {len(text):,} characters; the most is {MOST_CHARACTERS:,}.",
            "Shorten it, or add it as a document.",
        )


def left_out(kinds: Sequence[str]) -> str:
    """The sentence on what was not kept; "" where there was nothing."""
    if not kinds:
        return ""
    names = [f"an {kind}" if kind[0] in "aeiou" else f"a {kind}" for kind in kinds]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"Not kept: {listed}."
