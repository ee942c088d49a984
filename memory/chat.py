"""One user's memory in a chat, used before and after an answer; implements the pipeline's `ChatMemory`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from memory import graph
from memory.keeping import Kept, Said, keep, left_out, secret_kinds
from memory.questions import asks, corrects, is_personal
from memory.recall import Reading, within
from memory.requests import SECRETS, is_tool_request, reply_to, request_in
from memory.turn_index import ANSWER
from memory.upkeep import summary, tidy
from pipeline.answering.citations import without_markers
from pipeline.answering.recollection import MemoryReply, Recalled, Recollection, looked_up
from pipeline.errors import AthenaError, TurnChanged, UnknownConversation
from pipeline.steps.records import Step, last_step
from pipeline.steps.spending import spending, usage_of
from pipeline.stores.memories import MemorySource

if TYPE_CHECKING:
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer, Message, Passage
    from pipeline.options import PriceOptions
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.turns import Turn

PRIVATE = "the conversation is private: nothing from it is kept"
NOTHING_KEPT = "the memory is switched off in its settings"
ONLY_THIS = "the memory's settings limit it to this conversation: nothing is remembered afterwards"
NOTED = "Noted: I will find it again when you ask about it."
NOTHING_ASKED = "there was no request to remember anything"
TOOLS = "the message calls a tool"
AFTER = "after the answer is shown"
PATIENCE_S = 10.0  # longest wait of a request for earlier messages to be stored

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class AfterAnswers:
    """Background jobs, run one after the other in one thread; a failed job is logged."""

    _worker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "remembering"))
    _last: Future[None] | None = None

    def add(self, job: Callable[[], object]) -> None:
        """Queue a job; if no thread can be started, log a warning and drop the job."""
        try:
            self._last = self._worker.submit(_done, job)
        except RuntimeError as error:  # no thread can be started
            logger.warning("not remembered: %s", error)

    def finish(self, *, within_s: float | None = None) -> bool:
        """Wait until all jobs are done, but at most `within_s` seconds; return whether all are done."""
        return self._last is None or not wait([self._last], within_s).not_done


def _done(job: Callable[[], object]) -> None:
    try:
        job()
    except AthenaError as error:
        logger.warning("not remembered: %s", error)
    except Exception:  # a bug: nobody reads the future, so log it here
        logger.exception("not remembered")


@dataclass(frozen=True, slots=True)
class RememberingChat:
    """The memory of one chat: recalls before an answer, stores after it; stores nothing of a private chat."""

    memory: UserMemory
    conversations: Conversations
    after: AfterAnswers
    prices: PriceOptions
    why_private: str = ""  # why nothing from this conversation is kept; "" = not private
    left: dict[str, tuple[int, str]] = field(default_factory=dict)  # by first message: count, summary

    @property
    def uses_history(self) -> bool:
        """Whether earlier messages of the conversation go into the prompt."""
        return self.memory.preset.history

    @property
    def _why_nothing(self) -> str:
        """The reason why the preset recalls nothing and accepts no requests; "" if it does both."""
        preset = self.memory.preset
        return "" if preset.recalls else ONLY_THIS if preset.history else NOTHING_KEPT

    def concerns(self, message: str) -> bool:
        """Tell whether a message is a request to the memory: "remember that …"."""
        return request_in(message) is not None

    def texts(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of memories, relations, entities and turns by id, without unknown ids."""
        return self.memory.texts(ids)

    def said_by_user(self, ids: Sequence[str]) -> Collection[str]:
        """Return the ids, except those of the assistant's answers and of memories not from the user."""
        index = self.memory.index

        def is_answer(known: str) -> bool:
            relation = index.relations.get(known)
            memory = index.memories.get(relation.memory_id if relation else known)
            return memory.origin != "user" if memory else known.endswith(ANSWER)

        return [known for known in ids if not is_answer(known)]

    # -- before the answer --------------------------------------------------------------------------

    def reply(self, message: str, *, turn_id: str) -> MemoryReply:
        """Carry out a request to the memory, one for which `concerns` is true, and return the reply."""
        began, started = time.time(), time.perf_counter()
        request = request_in(message)
        assert request is not None  # noqa: S101  (`concerns` was true)
        keeps = request.kind == "remember"
        if why := self._why_nothing or (self.why_private if keeps else ""):
            kept = Kept(status="skipped", detail=why)
            text, ids = f"{why[0].upper()}{why[1:]}.", tuple[str, ...]()
        else:
            if not keeps and not self.why_private:
                self.after.finish(within_s=PATIENCE_S)
            said = Said(message=message, turn_id=turn_id, at=self.memory.clock())
            text, ids, kept = reply_to(self.memory, request, said)
        step = step_of_kept(kept, self.memory.preset.name, began=began, started=started)
        return MemoryReply(text=text, recalled=ids, step=step)

    def recall(
        self, message: str, *, question: str, left: Sequence[Message] = (), turn_id: str = ""
    ) -> Recollection:
        """Return the memories, relations and turns for the prompt of a message, within `memory_tokens`.

        `question` is the standalone form; `left` does not fit the prompt; the turn `turn_id` is left out.
        """
        preset, memory = self.memory.preset, self.memory
        static = memory.static if preset.name != "none" else ()
        summed = self._summary([item.text for item in left if item.role == "user"]) if preset.history else ""
        if why := self._why_nothing or (TOOLS if preset.exchange and is_tool_request(message) else ""):
            return Recollection(preset=preset.name, static=static, left=summed, detail=why)
        found, reading = memory.read(question)
        told = memory.told(question, reading=reading, without=[turn_id])
        recalled, around = tuple(item.recalled for item in found), self._around(reading)
        noted = NOTED if is_personal(message) or corrects(message) else ""
        items = (*recalled, *told.turns, *around)
        fitting = items[: within([item.text for item in items], tokens=memory.options.memory_tokens)]
        return replace(
            told,
            preset=preset.name,
            static=static,
            left=summed,
            memories=tuple(item for item in recalled if item in fitting),
            graph=tuple(item for item in around if item in fitting),
            turns=tuple(item for item in told.turns if item in fitting),
            asks=asks(message),
            noted="" if self.why_private or asks(message) else SECRETS if secret_kinds(message) else noted,
            exchange=preset.exchange,
            considered=reading.considered,
        )

    def _around(self, reading: Reading) -> tuple[Recalled, ...]:
        """Return the preset's number of relations, and of entities without a relation or with attributes."""
        preset, memory = self.memory.preset, self.memory
        index = memory.index
        with index.lock:
            relations = reading.around.relations[: preset.relations]
            related = {end for relation in relations for end in graph.ends(relation)}
            best = graph.entity_knowledge(index)[: preset.best_known]
            entities = {item.id: item for item in (*reading.around.entities, *best)}
            alone = [item for item in entities.values() if item.id not in related or item.attributes]
            return (
                *(Recalled(id=item.id, text=graph.sentence(index, item)) for item in relations),
                *(Recalled(id=it.id, text=graph.described(it)) for it in alone[: preset.entities]),
            )

    def _summary(self, said: Sequence[str]) -> str:
        """Return the latest summary of the user's messages that do not fit the prompt; "" before the first.

        If it does not cover all of them, a model writes a new one in the background, for a later message.
        """
        known, text = self.left.get(said[0], (0, "")) if said else (0, "")
        if known < len(said) and self.memory.find_model() is not None:
            self.after.add(partial(self._summarise, tuple(said)))
        return text

    def _summarise(self, said: Sequence[str]) -> None:
        self.left[said[0]] = len(said), summary(said, complete=self.memory.find_model())

    # -- after the answer ---------------------------------------------------------------------------

    def planned(self, message: str) -> Step:
        """Return the "remember" step as known before the answer: pending, or skipped with the reason."""
        preset, kinds = self.memory.preset, secret_kinds(message)
        unasked = preset.unasked and not self.why_private
        why = self.why_private or (AFTER if unasked else self._why_nothing or NOTHING_ASKED)
        detail = why if self.why_private else " ".join(filter(None, [why, left_out(kinds)]))
        data = {"preset": preset.name, "secrets": [*kinds]} | ({"pending": True} if unasked else {})
        return Step("remember", status="ok" if unasked else "skipped", detail=detail, data=data)

    def remember(self, answer: Answer, passages: Sequence[Passage]) -> None:
        """Queue jobs that index a stored turn and keep its facts; memory requests keep theirs in `reply`."""
        if self.why_private or not answer.turn_id:
            return
        self.after.add(self.memory.turns.follow)
        is_request = answer.mode == "memory" and not looked_up(answer)
        planned = last_step(answer.steps, "remember")
        nothing = not answer.recalled and planned is not None and planned.status == "skipped"
        if not is_request and not nothing:
            passage = next((item.section.text for item in passages), "")
            given: dict[str, Any] = {"passage": passage, "prices": self.prices}
            self.after.add(partial(finish_turn, self.memory, self.conversations, answer.turn_id, **given))


def finish_turn(
    memory: UserMemory, conversations: Conversations, turn_id: str, *, passage: str, prices: PriceOptions
) -> None:
    """Keep what the preset keeps of a stored turn, and write the "remember" step into the turn.

    `passage` is the answer's best one, or "". Nothing is kept of a turn that is deleted in the meantime.
    """
    with suppress(TurnChanged, UnknownConversation):
        turn = conversations.turn(turn_id)
        began, started = time.time(), time.perf_counter()
        with spending() as spent:
            kept = _kept(memory, turn, passage)
        done = step_of_kept(kept, memory.preset.name, began=began, started=started)

        def recorded(turn: Turn) -> Turn:
            steps = tuple(done if item.name == "remember" else item for item in turn.answer.steps)
            usage = usage_of(spent, prices, before=turn.answer.usage)
            return replace(turn, answer=replace(turn.answer, steps=steps, usage=usage))

        conversations.change_turn(turn_id, recorded)
        if turn.answer.recalled and turn.answer.mode != "memory":
            memory.used(turn.answer.recalled)
        tidy(memory)


def _kept(memory: UserMemory, turn: Turn, passage: str) -> Kept:
    fixed = turn.answer.mode == "reply" and not looked_up(turn.answer)
    if fixed or not memory.preset.unasked:
        return Kept(status="skipped", detail=NOTHING_ASKED)
    return keep(memory, said_of(turn, passage))


def said_of(turn: Turn, passage: str) -> Said:
    """Convert a stored turn for `keep`; an answer without content or from the memory becomes ""."""
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
    """Return the "remember" step; `began` is in seconds since the epoch, `started` is from `perf_counter`."""
    names = ("added", "known", "replaced", "secrets")
    data = {"preset": preset, **{name: [*getattr(kept, name)] for name in names}}
    ms = (time.perf_counter() - started) * 1000
    return Step("remember", status=kept.status, detail=kept.detail, data=data, started_at=began, ms=ms)
