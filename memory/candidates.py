"""What may be kept of a message, as memories that are still to be decided on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.comparing import Candidate
from memory.extracting import importance_of, reads_as_instruction, without_secrets
from memory.ids import new_id
from memory.index import plain
from memory.presets import Preset
from memory.reasons import WAS_ASKED_FOR
from memory.said import Said
from pipeline.stores.memories import Memory, MemorySource

if TYPE_CHECKING:
    from memory.extracting.records import Extraction, Statement
    from memory.index import UserIndex

LEAST_WORDS = 3  # of what is kept although no rule reads it
LEAST_ASKED = 2  # words of a question that is kept with its answer: "yes" asks nothing
STATED = "You said it."
QUESTION = "You asked it, and it was answered."
SALIENCE = {True: 0.7, None: 0.6, False: 0.5}  # of a question and its answer, by success
MOST_ANSWER = 300  # characters of an answer that are kept with its question
INSTRUCTION_NOTE = "It reads like an instruction: it is kept, and never acted on."

_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Candidates:
    """Makes memories of what one user says, by a preset."""

    user: str
    preset: Preset
    clock: Callable[[], float]

    def stated(self, item: Statement, said: Said, *, asked: bool = False) -> Candidate:
        """A statement; `asked` where the user asked for it to be kept."""
        asked = asked or item.asked_for
        why = _why(WAS_ASKED_FOR if asked else STATED, item.importance_why)
        kept = Memory(
            id=new_id(),
            user=self.user,
            text=item.whole or item.text,
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
            sources=said.span(item.start, item.end),
        )
        return Candidate(
            memory=kept,
            single_valued=item.single_valued,
            corrects=item.corrects,
            replaces=item.replaces,
            ends=item.ends,
            negated=item.negated,
            said_at=said.at,
            start=item.start,
            end=item.end,
        )

    def verbatim(self, message: str, said: Said, *, start: int, end: int) -> Candidate:
        """What no rule reads, as it stands in the message."""
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
                sources=said.span(start, end),
            ),
            start=start,
            end=end,
        )

    def question(self, said: Said, extraction: Extraction, *, index: UserIndex) -> list[Candidate]:
        """The question with its answer, without what the answer has from memory."""
        if extraction.secrets or not said.answer.strip() or len(said.question.split()) < LEAST_ASKED:
            return []
        answer = without_secrets(said.answer)
        if said.recalled:
            texts = [index.memories[known].text for known in said.recalled if known in index.memories]
            if any(plain(text) in plain(answer) for text in texts):
                return []
        first = " ".join(answer.split())[:MOST_ANSWER]
        trusted = not any(map(reads_as_instruction, (said.question, answer, *_SENTENCE.split(answer))))
        sources = (
            *said.span(0, len(said.question)),
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


def gaps(message: str, spans: Sequence[tuple[int, int]], *, start: int, end: int) -> list[tuple[int, int]]:
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
