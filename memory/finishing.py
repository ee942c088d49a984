"""Remember a turn after its answer: in this process, or at the next start where this one was ended before."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from memory.keeping import Kept, Said
from memory.upkeep import tidy
from pipeline.answering.citations import without_markers
from pipeline.answering.recollection import looked_up, nothing_left
from pipeline.errors import TurnChanged, UnknownConversation
from pipeline.steps.records import Step
from pipeline.steps.spending import Spent, spending, usage_of
from pipeline.stores.memories import MemorySource

if TYPE_CHECKING:
    from memory.after import AfterAnswers
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer
    from pipeline.options import PriceOptions
    from pipeline.stores.conversations import Conversations, Turn

NOTHING_ASKED = "nothing was asked to be remembered"
TRIES = 8  # of a turn whose words are forgotten meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Finishing:
    """Keeps what there is to keep of one user's turns."""

    memory: UserMemory
    conversations: Conversations
    after: AfterAnswers
    prices: PriceOptions

    def remember(self, answer: Answer, passage: str = "") -> None:
        """Keep, soon, what there is to keep of an answered turn; `passage` is its best one."""
        if not nothing_left(answer):
            self.after.add(partial(self._finish, answer.turn_id, passage))

    def _finish(self, turn_id: str, passage: str) -> None:
        for _ in range(TRIES - 1):
            with suppress(TurnChanged):  # words of it were forgotten while it was read: once more
                return self._remembered(turn_id, passage)
        return self._remembered(turn_id, passage)

    def _remembered(self, turn_id: str, passage: str) -> None:
        """Keep what there is to keep of a turn as it is stored now; nothing where it is gone."""
        try:
            turn = self.conversations.turn(turn_id)
        except UnknownConversation:
            return
        began, started = time.time(), time.perf_counter()
        with spending() as spent:
            kept = self._kept(turn, passage)
        step = step_of_kept(kept, self.memory.preset.name)
        step = replace(step, started_at=began, ms=(time.perf_counter() - started) * 1000)
        self._note(turn_id, step, spent)
        if turn.answer.recalled and turn.answer.mode != "memory":
            self.memory.used(turn.answer.recalled)
        tidy(self.memory)

    def _kept(self, turn: Turn, passage: str) -> Kept:
        answer, memory = turn.answer, self.memory
        by_memory = answer.mode in ("memory", "reply") and not looked_up(answer)
        if by_memory or not memory.preset.unasked:
            return Kept(status="skipped", detail=NOTHING_ASKED)
        return memory.remembering.keep(said_of(turn, passage))

    def _note(self, turn_id: str, done: Step, spent: Sequence[Spent]) -> None:
        """Put the step in the place of the pending one, in the turn as it is stored at that moment."""

        def noted(answer: Answer) -> Answer:
            steps = tuple(done if item.name == "remember" else item for item in answer.steps)
            return replace(answer, steps=steps, usage=usage_of(spent, self.prices, before=answer.usage))

        with suppress(UnknownConversation):
            self.conversations.change_answer(turn_id, noted)


def said_of(turn: Turn, passage: str) -> Said:
    """Return a stored turn as it is read for what to keep."""
    answer = turn.answer
    quoted = next((item.quote for item in answer.citations), "")
    names = ("source", "start", "end", "quote", "file_hash")
    cited = (MemorySource(**{name: getattr(one, name) for name in names}) for one in answer.citations)
    nothing = (
        answer.abstained
        or answer.mode == "memory"
        or (answer.mode == "quote" and answer.verdict == "closest")
    )
    return Said(
        message=turn.question,
        turn_id=turn.id,
        at=turn.created_at,
        answer="" if nothing else without_markers(answer.text),
        passage=passage or quoted,
        cited=tuple(cited),
        feedback=turn.feedback,
    )


def step_of_kept(kept: Kept, preset: str) -> Step:
    """Return the record of a step from what was kept."""
    data = {
        "preset": preset,
        "added": [*kept.added],
        "known": [*kept.known],
        "replaced": [*kept.replaced],
        "untrusted": [*kept.untrusted],
        "secrets": [*kept.secrets],
        "entities": kept.entities,
        "relations": kept.relations,
        "by": kept.by,
    }
    return Step("remember", status=kept.status, detail=kept.detail, data=data)
