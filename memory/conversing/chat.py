"""One user's memory in a chat: fulfils the pipeline's `ChatMemory`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from memory.conversing.finishing import Finishing, turns_before
from memory.conversing.replying import Replying, shown_before
from memory.deciding.heard import Heard, left_out
from memory.deciding.remember import NOTHING_ASKED
from memory.deciding.upkeep import summary
from memory.reading.asking import asked_part, asks, leans, states
from memory.reading.commands import about_tools
from memory.recalling import graph
from memory.recalling.recall import Reading, within
from pipeline.answering.recollection import MemoryReply, Recalled, Recollection
from pipeline.errors import AthenaError
from pipeline.steps.records import Step

if TYPE_CHECKING:
    from memory.recalling.telling import Told
    from memory.user_memory import UserMemory
    from pipeline.answering.turns import FinishedTurn
    from pipeline.messages import Message
    from pipeline.stores.conversations import Conversations

PRIVATE = "the conversation is private: nothing of it is kept"
NOTHING_KEPT = "the memory is switched off in its settings"
ONLY_THIS = (
    "only this conversation is remembered, and nothing after it: other ways are in the memory's settings"
)
UNWRITABLE = "the data folder can only be read: nothing is kept"
TOOLS = "the message is about tools"
AFTER = "after the answer is shown"
MOST_RELATED = 8  # relations beneath an answer
BRIEFLY_S = 0.5  # for what was said a moment ago
PATIENCE_S = 10.0  # for what was said before, where a model is still reading it


@dataclass(frozen=True, slots=True)
class RememberingChat:
    """Recalls before an answer and remembers after it; a private one keeps nothing."""

    finishing: Finishing
    private: Conversations | None = None  # where a private conversation is kept
    why_private: str = PRIVATE
    heard: dict[str, Heard] = field(default_factory=dict)  # the last message

    @property
    def memory(self) -> UserMemory:
        """Whose it is."""
        return self.finishing.memory

    @property
    def uses_history(self) -> bool:
        """Whether what was said before belongs to a message."""
        return self.memory.preset.history

    @property
    def _why_nothing(self) -> str:
        """Why a preset that takes no requests keeps and recalls nothing."""
        return ONLY_THIS if self.memory.preset.history else NOTHING_KEPT

    def concerns(self, message: str, *, conversation_id: str, turn_id: str = "") -> bool:
        """Whether a message is about the memory.

        "Yes" is, after what would be forgotten was shown; so is what corrects something that was asked to be
        remembered.
        """
        self.heard.clear()  # the same message may be another matter the second time
        try:
            heard = self._heard(message, conversation_id, turn_id)
        except AthenaError:  # the memory cannot be read: recalling says so, and the answer goes without
            return False
        return heard.corrects or heard.command is not None or shown_before(heard) is not None

    def _heard(self, message: str, conversation_id: str = "", turn_id: str = "") -> Heard:
        """The message as it was read, the same from its first step to its last."""
        if (heard := self.heard.get(message)) is None:
            talk = turns_before(self.private or self.finishing.conversations, conversation_id, turn_id)
            heard = self.memory.remembering.hear(message, talk=talk)
        self.heard.clear()
        self.heard[message] = heard if heard.turn_id == turn_id else replace(heard, turn_id=turn_id)
        return self.heard[message]

    def texts(self, ids: Sequence[str]) -> Mapping[str, str]:
        """What memories say; forgotten ones are left out."""
        return self.memory.texts(ids)

    def said_by_user(self, ids: Sequence[str]) -> Collection[str]:
        """Those of memories that rest on what the user said, or the persona says."""
        return frozenset(filter(self.memory.is_of_user, ids))

    # -- before the answer --------------------------------------------------------------------------

    def reply(self, message: str, *, conversation_id: str, turn_id: str) -> MemoryReply:
        """Do what the message asks of the memory, and say so."""
        kept = self.private is None
        return Replying(
            memory=self.memory,
            heard=self._heard(message, conversation_id, turn_id),
            private="" if kept else self.why_private,
            why_nothing="" if self.memory.preset.recalls else self._why_nothing,
            settle=partial(self.finishing.after.finish, within_s=PATIENCE_S) if kept else lambda: None,
        ).reply()

    def recall(
        self, message: str, *, question: str, left: Sequence[Message], turn_id: str = ""
    ) -> Recollection:
        """What a message brings to mind, but for what it corrects itself, and its own turn.

        `question` is what the message stands for in its conversation.
        """
        preset, memory = self.memory.preset, self.memory
        static = tuple(
            Recalled(id=item.id, text=item.text, importance=item.importance)
            for item in (memory.static if preset.name != "none" else ())
        )
        always = Recollection(preset=preset.name, static=static, left=summary(left) if preset.history else "")
        if not preset.recalls:
            return replace(always, detail=self._why_nothing)
        if preset.exchange and about_tools(question):
            return replace(always, detail=TOOLS)
        if self.private is None and memory.find_model() is None:  # rules take milliseconds
            self.finishing.after.finish(within_s=BRIEFLY_S)
        corrected = {known for heard in self.heard.values() for known in heard.changed}
        found, reading = memory.read(question)
        kept = memory.index.memories
        wrong = [source.turn_id for each in corrected if each in kept for source in kept[each].sources]
        told = self._told(message, question, reading, without=[turn_id, *wrong])
        found = [item for item in found if item.memory.id not in corrected]
        recalled = tuple(item.recalled for item in found)
        around, related = self._around(reading, question, recalled)
        tokens = memory.options.memory_tokens
        fitting = within([item.text for item in (*static, *recalled, *told.turns, *around)], tokens=tokens)
        turns = told.turns[: max(0, fitting - len(static) - len(found))]
        spare = max(0, fitting - len(static) - len(found) - len(turns))
        return replace(
            always,
            memories=recalled,
            graph=around[:spare],
            related=tuple(item.id for item in around[:spare] if item.id in related),
            turns=turns,
            told=told.text,
            told_ids=told.shown,
            verdict=told.verdict,
            probability=told.probability,
            asks=asks(message),
            noted=self._is_noted(message),
            stated=any(item.subject for heard in self.heard.values() for item in heard.statements),
            personal=told.personal,
            asked=told.asked,
            exchange=preset.exchange,
            considered=reading.considered,
            threshold=memory.threshold,
        )

    def _is_noted(self, message: str) -> bool:
        """Whether a message states something of the user or of what was said, and is found again by it."""
        if self.private is not None or not self.memory.recalls_turns:
            return False
        says, heard = self.memory.turns.says, self.heard.get(message) or Heard(message=message)
        goes_on = not asks(message) and any(says(item.subject) for item in heard.relations)
        return (goes_on or states(message)) and not heard.secrets

    def _told(self, message: str, question: str, reading: Reading, *, without: Sequence[str]) -> Told:
        """What the message as it was typed brings to mind; or its question, where it leans on another.

        What was said before is in that: it would be found of every message by itself.
        """
        wordings = [asked_part(message), *([question] if leans(message) and question != message else [])]
        return max(
            (
                self.memory.told(text, reading=reading if text == question else None, without=without)
                for text in wordings
            ),
            key=lambda told: told.probability,
        )

    def _around(
        self, reading: Reading, question: str, memories: Sequence[Recalled]
    ) -> tuple[tuple[Recalled, ...], Collection[str]]:
        """Relations and entities without one, as many as the preset reads.

        Beside them, the ids of those to show: the recalled memories have not said them.
        """
        preset, index = self.memory.preset, self.memory.index
        relations = self.memory.relations_for(question, reading.around)
        related = {end for relation in relations for end in (relation.subject_id, relation.object_id)}
        alone = [item for item in reading.around.entities if item.id not in related]
        found = (
            *(Recalled(id=item.id, text=graph.sentence(index, item)) for item in relations),
            *(Recalled(id=item.id, text=item.name) for item in alone[: preset.entities]),
        )
        about = graph.about(reading.around, relations)[:MOST_RELATED] if preset.documents else ()
        said = {item.id for item in memories}
        return found, {relation.id for relation in about if relation.memory_id not in said}

    # -- after the answer ---------------------------------------------------------------------------

    def planned(self, message: str) -> Step:
        """The step that will follow the answer, as far as it is known before."""
        preset = self.memory.preset
        kinds = (self.heard.get(message) or Heard(message=message)).secrets
        step = Step("remember", data={"preset": preset.name, "secrets": [*kinds]})
        if self.private is not None:
            return replace(step, status="skipped", detail=self.why_private)
        try:
            keeps = preset.unasked or self._heard(message).kept
        except AthenaError as error:  # it is tried again after the answer, and at the next start
            return replace(step, status="failed", detail=str(error))
        if not keeps:
            why = NOTHING_ASKED if preset.recalls else self._why_nothing
            return replace(step, status="skipped", detail=" ".join(filter(None, [why, left_out(kinds)])))
        detail = " ".join(filter(None, [AFTER, left_out(kinds)]))
        return replace(step, detail=detail, data={**step.data, "pending": True})

    def begin(self, turn_id: str) -> None:
        """A turn is about to be stored: until it is remembered, no other process catches up on it."""
        if self.private is None:
            self.finishing.in_hand.take(turn_id)

    def give_up(self, turn_id: str) -> None:
        """It could not be stored."""
        self.finishing.in_hand.leave(turn_id)

    def remember(self, turn: FinishedTurn) -> None:
        """Keep of a turn what there is to keep, soon."""
        answer = turn.answer
        if self.private is None and answer.turn_id:
            self.finishing.after.add(self.memory.turns.follow)
            heard = self.heard.get(answer.question)
            self.finishing.remember(answer, heard and replace(heard, turn_id=answer.turn_id))

    def catch_up(self) -> None:
        """Remember the turns that an earlier process did not come to: at once, or soon with a model."""
        if self.private is None:
            self.finishing.catch_up()
