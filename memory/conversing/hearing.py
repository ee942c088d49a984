"""What a message is to the memory, and what the memory does at one to it, and answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from memory.conversing import replies
from memory.deciding.candidates import Said
from memory.deciding.remember import ASKING, Heard, Remembering
from memory.reading.asking import asks
from memory.reading.commands import asked_of_memory
from memory.reading.records import Command, MemoryCommand
from memory.reading.statements import statements_in
from pipeline.answering.recollection import MemoryReply
from pipeline.errors import AthenaError, UnknownConversation
from pipeline.steps.records import RememberStep

if TYPE_CHECKING:
    from memory.deciding.forgetting import Forgetting
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer
    from pipeline.stores.conversations import Conversations, Turn

_FORGETTING = (Command.FORGET, Command.FORGET_ALL)


class Hearing:
    """One message of a conversation, and the turn before it: each is read once, when it is first needed."""

    def __init__(
        self,
        memory: UserMemory,
        conversations: Conversations,
        message: str,
        *,
        conversation_id: str = "",
        turn_id: str = "",
    ) -> None:
        self.message = message
        self.turn_id = turn_id  # its own turn, once that is stored
        self._memory, self._conversations = memory, conversations
        self._conversation_id = conversation_id

    @property
    def is_of_memory(self) -> bool:
        """Whether the memory answers it."""
        try:
            return self.command is not None or self.shown is not None or self.corrects
        except AthenaError:  # the memory cannot be read: recalling says so, and the answer goes without
            return False

    @cached_property
    def command(self) -> MemoryCommand | None:
        """What it asks of the memory."""
        return asked_of_memory(self.message)

    @cached_property
    def shown(self) -> Turn | None:
        """The turn that showed what would be forgotten, where the message says yes or no to that."""
        answers = (replies.YES, replies.NO)
        if not any(answer.fullmatch(self.message.strip()) for answer in answers):
            return None
        turn = self.turn_before
        return turn if turn is not None and _shows_what_would_go(turn) else None

    @property
    def corrects(self) -> bool:
        """Whether it corrects what is remembered, and is nothing else.

        Where statements are kept unasked, only what says that it corrects something does.
        """
        return self.heard.says_so if self._memory.preset.statements else self.heard.corrects

    @property
    def is_kept(self) -> bool:
        """Whether something is to be kept of it after its answer."""
        return self._memory.preset.unasked or bool(self.heard)

    @cached_property
    def heard(self) -> Heard:
        """What it does to the memory."""
        return self.remembering.heard(self.message)

    @property
    def remembering(self) -> Remembering:
        """What keeps turns, of this one in its conversation."""
        return replace(self._memory.remembering, before=self._answer_before)

    def _answer_before(self) -> Answer | None:
        return self.turn_before.answer if self.turn_before is not None else None

    @cached_property
    def turn_before(self) -> Turn | None:
        """The turn before it in its conversation; None where there is none."""
        try:
            turns = self._conversations.get(self._conversation_id).turns if self._conversation_id else ()
        except UnknownConversation:
            return None
        number = next((number for number, turn in enumerate(turns) if turn.id == self.turn_id), len(turns))
        return turns[number - 1] if number else None


def _shows_what_would_go(turn: Turn) -> bool:
    """Whether a turn asked whether something is to be forgotten."""
    command = asked_of_memory(turn.question) if turn.answer.mode == "memory" else None
    return command is not None and command.kind in _FORGETTING


NOT_CONFIRMED = "what would be forgotten was not confirmed"
ONLY_ASKED = "a question to the memory: nothing new to keep"
_LAST_SAID = re.compile(r"(?:that|this|it)\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replying:
    """Answers one message to a memory."""

    memory: UserMemory
    hearing: Hearing
    private: str = ""  # why nothing is kept of the conversation
    why_nothing: str = ""  # a preset that takes no requests keeps nothing
    settle: Callable[[], object] = lambda: None  # what was said a moment ago is kept, too

    def reply(self) -> MemoryReply:
        """Do what the message asks of the memory, and say so."""
        command = self.hearing.command
        if command is None and self.hearing.shown is None:
            return self._restated()
        if command is None or command.kind is not Command.REMEMBER:
            self.settle()
        if command is None:
            return self._confirmed()
        if not self.memory.preset.commands:
            return self._skipped(
                replies.ONLY_THIS if self.memory.preset.history else replies.OFF, self.why_nothing
            )
        match command.kind:
            case Command.REMEMBER if not command.query or _LAST_SAID.fullmatch(command.query):
                return self._asked_before()
            case Command.REMEMBER:
                return self._asked(self.hearing.message, command, turn_id=self.hearing.turn_id)
            case Command.SAID if not command.query:
                text, recalled = self._last_said()
            case Command.KNOWN if not command.query:
                text, recalled = self._all_known()
            case Command.KNOWN | Command.SAID:
                text, recalled = self._told(command)
            case Command.FORGET | Command.FORGET_ALL:
                text, recalled = self._would_forget(command)
        return replace(self._skipped(text, ONLY_ASKED), recalled=recalled)

    def _skipped(self, text: str, why: str) -> MemoryReply:
        """A reply after which nothing is kept."""
        step = RememberStep(preset=self.memory.preset.name, status="skipped", detail=why)
        return MemoryReply(text=text, step=step)

    # -- keeping ------------------------------------------------------------------------------------

    def _restated(self) -> MemoryReply:
        """Keep a correction, as the rules read it: they have said that it is one."""
        if self.private:
            return self._not_kept()
        said = Said(turn_id=self.hearing.turn_id, question=self.hearing.message, at=self.memory.clock())
        return self._confirmation(replace(self.hearing.remembering, complete=None).kept(said))

    def _asked(
        self, message: str, command: MemoryCommand, *, turn_id: str, later: bool = False
    ) -> MemoryReply:
        if self.private:
            return self._not_kept()
        step = self.hearing.remembering.asked(
            message, turn_id=turn_id, start=command.start, end=command.end or None, later=later
        )
        return self._confirmation(step)

    def _asked_before(self) -> MemoryReply:
        """Keep what the turn before this one said: a bare "remember that"."""
        turn = self.hearing.turn_before
        asked = ASKING + turn.question if turn else ""
        said = [item for item in statements_in(asked, said_at=self.memory.clock()) if item.subject]
        if turn is None or not said or turn.answer.mode == "memory":
            return self._nothing_said()
        start, end = 0, len(turn.question)
        if "?" in turn.question:  # only what is stated is kept
            start, end = max(0, said[0].start - len(ASKING)), said[-1].end - len(ASKING)
        if "?" in turn.question[start:end]:
            return self._nothing_said()
        command = MemoryCommand(Command.REMEMBER, turn.question[start:end], start, end)
        return self._asked(turn.question, command, turn_id=turn.id, later=True)

    def _nothing_said(self) -> MemoryReply:
        return self._skipped(replies.REMEMBER_WHAT, "nothing was said")

    def _not_kept(self) -> MemoryReply:
        return self._skipped(f"{self.private[0].upper()}{self.private[1:]}.", self.private)

    def _confirmation(self, step: RememberStep) -> MemoryReply:
        return MemoryReply(
            text=replies.kept(step, self.memory),
            recalled=tuple(dict.fromkeys((*step.added, *step.known, *step.touched))),
            step=step,
        )

    # -- telling ------------------------------------------------------------------------------------

    def _all_known(self) -> tuple[str, tuple[str, ...]]:
        kept = [memory for memory in self.memory.list() if memory.tier != "static"]
        found = sorted(kept, key=lambda memory: memory.kind == "qa")[: replies.MOST]  # questions last
        said = self.memory.turns.own(without=[self.hearing.turn_id])
        return replies.known(found, turns=len(said)), tuple(memory.id for memory in found)

    def _last_said(self) -> tuple[str, tuple[str, ...]]:
        """The last messages, or the last questions where these are asked for."""
        questions = "ask" in self.hearing.message.casefold()
        said = self.memory.turns.own(without=[self.hearing.turn_id])
        shown = [turn for turn in said if asks(turn.text) or not questions][: replies.MOST_SAID]
        nothing = replies.NO_QUESTIONS if questions else replies.NOTHING
        opening = f"You {'asked' if questions else 'wrote'}, latest first:"
        return replies.quoted(opening, shown) if shown else nothing, tuple(turn.id for turn in shown)

    def _told(self, command: MemoryCommand) -> tuple[str, tuple[str, ...]]:
        without = [self.hearing.turn_id]
        if command.kind is Command.SAID and (
            said := self.memory.turns.own(command.query, without=without)[: replies.MOST_SAID]
        ):
            opening = f"You said about “{command.query}”:"
            return replies.quoted(opening, said), tuple(turn.id for turn in said)
        told = self.memory.told(self.hearing.message, without=without)
        return told.text or replies.not_known(command.query), told.shown

    # -- forgetting ---------------------------------------------------------------------------------

    def _would_forget(self, command: MemoryCommand) -> tuple[str, tuple[str, ...]]:
        found = self._to_forget(command)
        names = command.kind is Command.FORGET_ALL and bool(self.memory.index.entities)
        text = replies.would_forget(found, query=command.query, names=names)
        return text, (*(memory.id for memory in found.memories), *found.turn_ids)

    def _to_forget(self, command: MemoryCommand) -> Forgetting:
        without = [self.hearing.turn_id]
        if command.kind is Command.FORGET_ALL:
            return self.memory.forgetting(everything=True, without=without)
        if command.query:
            return self.memory.forgetting(search=command.query, without=without)
        last = self.hearing.turn_before
        if last is None:
            return self.memory.forgetting()
        recalled, modes = last.answer.recalled, {one.mode for one in last.answer.each}
        meant = recalled if recalled and "memory" in modes else (*recalled, last.id)  # else either is meant
        kept = [known for known in recalled if known in self.memory.index.memories]
        return self.memory.forgetting(kept, turns=meant, without=without)

    def _confirmed(self) -> MemoryReply:
        """Forget what was shown, or leave it, as the message says."""
        message = self.hearing.message
        if replies.NO.fullmatch(message.strip()):
            return self._skipped(replies.NOT_FORGOTTEN, NOT_CONFIRMED)
        return self._forgotten(self.hearing.shown, words="keep" not in message.casefold())

    def _forgotten(self, shown: Turn | None, *, words: bool) -> MemoryReply:
        index, ids = self.memory.index, shown.answer.recalled if shown else ()
        command = asked_of_memory(shown.question) if shown else None
        everything = command is not None and command.kind is Command.FORGET_ALL
        left = self.memory.forgetting(
            [known for known in ids if known in index.memories],
            turns=(*ids, shown.id) if shown and words else ids,  # the request names what it asks to forget
            without=[self.hearing.turn_id],
        )
        self.memory.forget(left, words=words, everything=everything)
        number, turns = len(left.memories), len(left.turn_ids)
        step = RememberStep(preset=self.memory.preset.name, forgotten=number + turns)
        return MemoryReply(text=replies.forgotten(number, turns, words=words), step=step)
