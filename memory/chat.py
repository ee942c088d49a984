"""One user's memory in a chat: fulfils the pipeline's `ChatMemory`."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from memory import graph
from memory.finishing import NOTHING_ASKED, AfterAnswers, finish_turn, step_of_kept
from memory.keeping import Kept, Said, left_out, secret_kinds
from memory.questions import asked_part, asks, states
from memory.recall import Reading, within
from memory.requests import is_tool_request, reply_to, request_in
from memory.upkeep import summary
from pipeline.answering.recollection import (
    MemoryReply,
    Recalled,
    Recollection,
    looked_up,
    nothing_left,
)
from pipeline.steps.records import Step

if TYPE_CHECKING:
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer, Passage
    from pipeline.messages import Message
    from pipeline.options import PriceOptions
    from pipeline.stores.conversations import Conversations

PRIVATE = "the conversation is private: nothing of it is kept"
NOTHING_KEPT = "the memory is switched off in its settings"
ONLY_THIS = "only this conversation is remembered, and nothing after it: the memory's settings say so"
TOOLS = "the message calls a tool"
AFTER = "after the answer is shown"
BRIEFLY_S = 0.5  # waited for the message before to be remembered
PATIENCE_S = 10.0  # the same before a request, where a model may still be reading
MOST_RELATED = 8  # relations shown under an answer


@dataclass(frozen=True, slots=True)
class RememberingChat:
    """Recalls before an answer and remembers after it; a private chat keeps nothing."""

    memory: UserMemory
    conversations: Conversations
    after: AfterAnswers
    prices: PriceOptions
    why_private: str = ""  # why nothing of this conversation is kept; "" = it is
    left: dict[str, tuple[int, str]] = field(default_factory=dict)  # summaries by first message

    @property
    def uses_history(self) -> bool:
        """Whether the conversation goes into the prompt."""
        return self.memory.preset.history

    @property
    def _why_nothing(self) -> str:
        """Why the preset recalls nothing and takes no requests; "" where it does."""
        preset = self.memory.preset
        return "" if preset.recalls else ONLY_THIS if preset.history else NOTHING_KEPT

    def concerns(self, message: str) -> bool:
        """Tell whether a message is a request to the memory: "remember that …"."""
        return request_in(message) is not None

    def texts(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of memories by id; forgotten ones are left out."""
        return self.memory.texts(ids)

    def said_by_user(self, ids: Sequence[str]) -> Collection[str]:
        """Return the ids of what the user said, or the persona says."""
        return frozenset(filter(self.memory.is_of_user, ids))

    # -- before the answer --------------------------------------------------------------------------

    def reply(self, message: str, *, turn_id: str) -> MemoryReply:
        """Do what a request asks of the memory, and return the reply."""
        began, started = time.time(), time.perf_counter()
        request = request_in(message)
        assert request is not None  # noqa: S101  (`concerns` was asked first)
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
        """Return what is remembered about a message; its own turn is left out.

        `question` is the message as it stands alone; `left` are the messages that the prompt has no room for.
        """
        preset, memory = self.memory.preset, self.memory
        persona = memory.static if preset.name != "none" else ()
        static = tuple(Recalled(id=it.id, text=it.text, importance=it.importance) for it in persona)
        summed = self._summary([item.text for item in left if item.role == "user"]) if preset.history else ""
        if why := self._why_nothing or (TOOLS if preset.exchange and is_tool_request(message) else ""):
            return Recollection(preset=preset.name, static=static, left=summed, detail=why)
        if not self.why_private and memory.find_model() is None:  # without a model it takes milliseconds
            self.after.finish(within_s=BRIEFLY_S)
        found, reading = memory.read(question)
        told = memory.told(asked_part(question), reading=reading, without=[turn_id])
        recalled = tuple(item.recalled for item in found)
        around = self._around(reading)
        texts = [item.text for item in (*static, *recalled, *told.turns, *around)]
        room = within(texts, tokens=memory.options.memory_tokens) - len(static) - len(recalled)
        turns = told.turns[: max(0, room)]
        around = around[: max(0, room - len(turns))]
        shown = memory.index.relations if preset.depth > 1 else {}
        return replace(
            told,
            preset=preset.name,
            static=static,
            left=summed,
            memories=recalled,
            graph=around,
            related=tuple(item.id for item in around if item.id in shown)[:MOST_RELATED],
            turns=turns,
            asks=asks(message),
            noted=not self.why_private and states(message) and not secret_kinds(message),
            exchange=preset.exchange,
            considered=reading.considered,
            threshold=memory.threshold,
        )

    def _around(self, reading: Reading) -> tuple[Recalled, ...]:
        """Return relations, and entities that stand in none of them, as many as the preset recalls."""
        preset, memory = self.memory.preset, self.memory
        index = memory.index
        with index.lock:
            relations = reading.around.relations[: preset.relations]
            related = {end for relation in relations for end in (relation.subject_id, relation.object_id)}
            best = (known.entity for known in graph.entity_knowledge(index)[: preset.best_known])
            entities = {item.id: item for item in (*reading.around.entities, *best)}
            alone = [item for item in entities.values() if item.id not in related or item.attributes]
            return (
                *(Recalled(id=item.id, text=graph.sentence(index, item)) for item in relations),
                *(Recalled(id=it.id, text=graph.described(it)) for it in alone[: preset.entities]),
            )

    def _summary(self, said: Sequence[str]) -> str:
        """Return the summary of the user's messages that left the window.

        A model writes it after the answer, for the next message; until then it is "".
        """
        known, text = self.left.get(said[0], (0, "")) if said else (0, "")
        if known < len(said) and self.memory.find_model() is not None:
            self.after.add(partial(self._summarise, tuple(said)))
        return text

    def _summarise(self, said: Sequence[str]) -> None:
        self.left[said[0]] = len(said), summary(said, complete=self.memory.find_model())

    # -- after the answer ---------------------------------------------------------------------------

    def planned(self, message: str) -> Step:
        """Return the record of the step that will follow the answer."""
        preset, kinds = self.memory.preset, secret_kinds(message)
        unasked = preset.unasked and not self.why_private
        why = self.why_private or (AFTER if unasked else self._why_nothing or NOTHING_ASKED)
        detail = why if self.why_private else " ".join(filter(None, [why, left_out(kinds)]))
        data = {"preset": preset.name, "secrets": [*kinds]} | ({"pending": True} if unasked else {})
        return Step("remember", status="ok" if unasked else "skipped", detail=detail, data=data)

    def remember(self, answer: Answer, passages: Sequence[Passage]) -> None:
        """Keep, soon, what there is to keep of a turn; of a request, all was kept before its reply."""
        if self.why_private or not answer.turn_id:
            return
        self.after.add(self.memory.turns.follow)
        is_request = answer.mode == "memory" and not looked_up(answer)
        if not is_request and not nothing_left(answer):
            passage = next((item.section.text for item in passages), "")
            given: dict[str, Any] = {"passage": passage, "prices": self.prices}
            self.after.add(partial(finish_turn, self.memory, self.conversations, answer.turn_id, **given))
