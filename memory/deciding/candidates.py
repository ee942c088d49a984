"""One turn as far as remembering needs it; what of it no rule reads, and what is not kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.answering.recollection import looked_up
from pipeline.errors import AthenaError
from pipeline.stores.memories import MemorySource

if TYPE_CHECKING:
    from pipeline.answer import Answer, Citation

LEAST_WORDS = 3  # of what is kept although no rule reads it
WAS_ASKED_FOR = "You asked to remember it."


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
