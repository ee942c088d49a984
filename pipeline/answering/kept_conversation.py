"""A chat's conversation: what was said in it, and each of its turns stored, also while it is answered."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from pipeline.answer import Answer
from pipeline.answering.citations import without_markers
from pipeline.answering.recollection import looked_up
from pipeline.answering.turns import ChatParts, RunningTurn
from pipeline.errors import StoreError
from pipeline.messages import Message
from pipeline.steps.spending import usage_of
from pipeline.stores.conversations import Conversation, not_of
from pipeline.stores.globs import as_scope
from pipeline.stores.turns import Turn, title_of, unknown_turn

FROM_MEMORY = "(From what was said before.)"  # stands in prompts for an answer of the memory
NOT_STORED = "This answer is not stored: {why}"


def history_of(conversation: Conversation | None) -> list[Message]:
    """Return the messages of a stored conversation that later questions may refer to."""
    turns = conversation.turns if conversation else ()
    return [message for turn in turns for message in messages_of(turn.answer)]


def messages_of(answer: Answer) -> list[Message]:
    """Return a turn as two messages, without citation markers: their numbers mean nothing in a later prompt.

    Empty where no later question refers to it: small talk, requests to the memory, forgotten turns, and a
    failed turn without text, which the model would answer again.
    """
    text = answer.text
    if answer.mode in ("reply", "memory"):
        text = FROM_MEMORY if looked_up(answer) else ""
    if not (answer.question.strip() and text.strip()):
        return []
    return [Message("user", answer.question), Message("assistant", without_markers(text))]


def conversation_of(parts: ChatParts, conversation_id: str) -> Conversation | None:
    """The conversation of an id, None without one; raises `UnknownConversation`, also for another user's."""
    if not conversation_id:
        return None
    found = parts.conversations.get(conversation_id)
    if found.info.user != parts.user:
        raise not_of(parts.user, found.info)
    return found


def before_turn(conversation: Conversation | None, turn_id: str) -> tuple[Conversation, Turn]:
    """The conversation as it was before a turn, and that turn; raises `UnknownConversation` without one."""
    turns = conversation.turns if conversation else ()
    place = next((place for place, turn in enumerate(turns) if turn.id == turn_id), None)
    if conversation is None or place is None:
        raise unknown_turn(turn_id)
    return replace(conversation, turns=turns[:place]), turns[place]


class KeptConversation:
    """Where a chat's turns are stored; a new conversation gets its `id` with the first of them."""

    def __init__(self, parts: ChatParts, conversation_id: str) -> None:
        self.parts = parts
        self.id = conversation_id

    def keep(self, turn: RunningTurn, answer: Answer) -> Answer:
        """Store a turn with all its steps, replacing what was stored of it before."""
        turn.outcome = replace(
            answer,
            steps=tuple(turn.trace.steps),
            seconds=turn.trace.seconds,
            turn_id=turn.turn_id,
            usage=usage_of(turn.spent, self.parts.prices),
        )
        if not self.id:
            self._begin(turn)
        turn.turn_id = self.parts.conversations.save_turn(
            self.id, turn.outcome, instead_of="" if turn.turn_id else turn.instead_of
        )
        turn.outcome = replace(turn.outcome, turn_id=turn.turn_id, conversation_id=self.id)
        return turn.outcome

    def keep_if_possible(self, turn: RunningTurn, answer: Answer) -> Answer:
        """The answer, stored; where the store cannot be written, it is shown all the same, and says so."""
        try:
            return self.keep(turn, answer)
        except StoreError as error:
            notices = (*answer.notices, NOT_STORED.format(why=error))
            turn.outcome = replace(turn.finished.answer, notices=notices, turn_id="")
            return turn.outcome

    def keep_so_far(self, turn: RunningTurn) -> None:
        """Store a turn that is being answered: as stopped, so that what a kill leaves behind says so."""
        self.keep(turn, turn.answer(text=turn.text, status="stopped"))

    def keep_so_far_if_possible(self, turn: RunningTurn) -> None:
        """The same; what cannot be stored now is stored the next time, or said at the end."""
        with suppress(StoreError):
            self.keep_so_far(turn)

    def keep_failed(self, turn: RunningTurn, why: str) -> Answer:
        """Store what there is of a failed turn, with why it ended as its last notice."""
        kept = turn.partial or turn.answer(text=turn.text)
        return self.keep(turn, replace(kept, status="failed", notices=(*turn.notices, why)))

    def _begin(self, turn: RunningTurn) -> None:
        begun = self.parts.conversations.create(
            title_of(turn.message), user=self.parts.user, assistant=self.parts.persona.name
        )
        self.id = begun.info.id
        if scope := as_scope(self.parts.options.paths):
            self.parts.conversations.set_scope(self.id, scope)
