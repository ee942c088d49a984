"""What a message is to the memory: a request, a yes or no to forgetting, a correction, or none of these."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from memory.conversing import replies
from memory.deciding.remember import Heard, Remembering
from memory.reading import asked_of_memory
from memory.reading.records import Command, MemoryCommand
from pipeline.errors import AthenaError, UnknownConversation

if TYPE_CHECKING:
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer
    from pipeline.stores.conversations import Conversations, Turn

LAPSES_IN = 3  # turns, within which a yes may still mean what was shown
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
        return self.command is not None or self.shown is not None or self.lapsed or self.corrects

    @cached_property
    def command(self) -> MemoryCommand | None:
        """What it asks of the memory."""
        return asked_of_memory(self.message, is_known=self._is_known)

    @cached_property
    def shown(self) -> Turn | None:
        """The turn that showed what would be forgotten, where the message says yes or no to that."""
        answers = (replies.YES, replies.NO)
        if not any(answer.fullmatch(self.message.strip()) for answer in answers):
            return None
        turn = self.turn_before
        return turn if turn is not None and _shows_what_would_go(turn) else None

    @cached_property
    def lapsed(self) -> bool:
        """Whether it says yes to what was shown shortly before, and is not shown any more."""
        if self.shown is not None or not replies.YES.fullmatch(self.message.strip()):
            return False
        of_memory = [turn for turn in self._turns_before[-LAPSES_IN:] if turn.answer.mode == "memory"]
        return any(_shows_what_would_go(turn) and turn.answer.recalled for turn in of_memory[-1:])

    @property
    def corrects(self) -> bool:
        """Whether it corrects what is remembered, and is nothing else.

        Where statements are kept unasked, only what says that it corrects something does.
        """
        preset = self._memory.preset
        try:
            return preset.commands and (self.heard.says_so if preset.statements else self.heard.corrects)
        except AthenaError:  # the memory cannot be read: recalling says so, and the answer goes without
            return False

    @property
    def changed(self) -> tuple[str, ...]:
        """The memories that it corrects, whatever else it says or asks."""
        return self.heard.changed if self._memory.preset.commands else ()

    @property
    def is_kept(self) -> bool:
        """Whether something is to be kept of it after its answer."""
        preset = self._memory.preset
        return preset.unasked or (preset.commands and bool(self.heard))

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

    @property
    def turn_before(self) -> Turn | None:
        """The turn before it in its conversation; None where there is none."""
        return self._turns_before[-1] if self._turns_before else None

    @cached_property
    def _turns_before(self) -> tuple[Turn, ...]:
        try:
            turns = self._conversations.get(self._conversation_id).turns if self._conversation_id else ()
        except UnknownConversation:
            return ()
        number = next((number for number, turn in enumerate(turns) if turn.id == self.turn_id), len(turns))
        return turns[:number]

    def _is_known(self, thing: str) -> bool:
        """Whether something is remembered of the user's thing, their bunk, and can be told."""
        try:
            return self._memory.preset.commands and bool(self._memory.about_thing(thing))
        except AthenaError:
            return False


def _shows_what_would_go(turn: Turn) -> bool:
    """Whether a turn asked whether something is to be forgotten."""
    command = asked_of_memory(turn.question) if turn.answer.mode == "memory" else None
    return command is not None and command.kind in _FORGETTING
