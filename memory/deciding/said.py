"""One turn, as far as remembering needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.reading.asking import states
from pipeline.answering.recollection import looked_up
from pipeline.stores.memories import MemorySource

if TYPE_CHECKING:
    from pipeline.answer import Answer, Citation


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
        asked = told and not looked_up(answer)
        answered = not (answer.abstained or told) and (answer.mode != "quote" or answer.verdict != "closest")
        helped = {1: True, -1: False}.get(feedback or 0, None if answered else False)
        return cls(
            turn_id=answer.turn_id,
            question=answer.question,
            answer=text if answered else "",
            at=at,
            from_memory=asked or (answer.mode == "reply" and not states(answer.question)),
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
