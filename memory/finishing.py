"""Keep what there is to keep of a turn: in the background, after its answer was shown."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memory.keeping import Kept, Said, keep
from memory.upkeep import tidy
from pipeline.answering.citations import without_markers
from pipeline.answering.recollection import looked_up
from pipeline.errors import AthenaError, TurnChanged, UnknownConversation
from pipeline.steps.records import Step
from pipeline.steps.spending import spending, usage_of
from pipeline.stores.memories import MemorySource

if TYPE_CHECKING:
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer
    from pipeline.options import PriceOptions
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.turns import Turn

NOTHING_ASKED = "nothing was asked to be remembered"
TRIES = 8  # of a turn whose words are forgotten meanwhile

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class AfterAnswers:
    """Jobs that a background thread does one after the other; a failed job is logged."""

    _worker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "remembering"))
    _last: Future[None] | None = None

    def add(self, job: Callable[[], object]) -> None:
        """Do this soon."""
        try:
            self._last = self._worker.submit(_done, job)
        except RuntimeError as error:  # no thread can be started
            logger.warning("not remembered: %s", error)

    def finish(self, *, within_s: float | None = None) -> bool:
        """Wait until all jobs are done, or for `within_s` seconds; tell whether they are."""
        return self._last is None or not wait([self._last], within_s).not_done


def _done(job: Callable[[], object]) -> None:
    try:
        job()
    except AthenaError as error:
        logger.warning("not remembered: %s", error)
    except Exception:  # a fault of ours must not stop the other jobs
        logger.exception("not remembered")


def finish_turn(
    memory: UserMemory, conversations: Conversations, turn_id: str, *, passage: str, prices: PriceOptions
) -> None:
    """Keep what there is to keep of a stored turn, and record the step in it; nothing where it is gone.

    `passage` is the best one of its answer. A turn that was changed while it was read is read once more.
    """
    for _ in range(TRIES):
        with suppress(TurnChanged):
            with suppress(UnknownConversation):
                _remembered(memory, conversations, turn_id, passage=passage, prices=prices)
            return


def _remembered(
    memory: UserMemory, conversations: Conversations, turn_id: str, *, passage: str, prices: PriceOptions
) -> None:
    turn = conversations.turn(turn_id)
    began, started = time.time(), time.perf_counter()
    with spending() as spent:
        kept = _kept(memory, turn, passage)
    done = step_of_kept(kept, memory.preset.name, began=began, started=started)

    def recorded(answer: Answer) -> Answer:
        steps = tuple(done if item.name == "remember" else item for item in answer.steps)
        return replace(answer, steps=steps, usage=usage_of(spent, prices, before=answer.usage))

    conversations.change_answer(turn_id, recorded)
    if turn.answer.recalled and turn.answer.mode != "memory":
        memory.used(turn.answer.recalled)
    tidy(memory)


def _kept(memory: UserMemory, turn: Turn, passage: str) -> Kept:
    fixed = turn.answer.mode == "reply" and not looked_up(turn.answer)
    if fixed or not memory.preset.unasked:
        return Kept(status="skipped", detail=NOTHING_ASKED)
    return keep(memory, said_of(turn, passage))


def said_of(turn: Turn, passage: str) -> Said:
    """Return a stored turn as it is read for what to keep."""
    answer = turn.answer
    names = ("source", "start", "end", "quote", "file_hash")
    cited = (MemorySource(**{name: getattr(one, name) for name in names}) for one in answer.citations)
    closest = answer.mode == "quote" and answer.verdict == "closest"
    nothing = answer.abstained or answer.mode == "memory" or closest
    return Said(
        message=turn.question,
        turn_id=turn.id,
        at=turn.created_at,
        answer="" if nothing else without_markers(answer.text),
        passage=passage,
        cited=tuple(cited),
    )


def step_of_kept(kept: Kept, preset: str, *, began: float, started: float) -> Step:
    """Return the record of a step that began at a time, and at `started` on `perf_counter`."""
    names = ("added", "known", "replaced", "secrets")
    data = {"preset": preset, **{name: [*getattr(kept, name)] for name in names}}
    ms = (time.perf_counter() - started) * 1000
    return Step("remember", status=kept.status, detail=kept.detail, data=data, started_at=began, ms=ms)
