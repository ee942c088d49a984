"""A chat's conversation: its earlier messages, and each of its turns stored, also while it is answered."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from pipeline.answer import Answer, Message
from pipeline.answering.citations import without_markers
from pipeline.answering.recollection import looked_up
from pipeline.answering.turns import ChatParts, RunningTurn
from pipeline.errors import StoreError
from pipeline.steps.spending import usage_of
from pipeline.stores.conversations import Conversation, not_of
from pipeline.stores.globs import as_scope
from pipeline.stores.turns import title_of, unknown_turn

FROM_MEMORY = "(From what was said before.)"  # stands in prompts for an answer of the memory
NOT_STORED = "This answer is not stored: {why}"


def history_of(conversation: Conversation | None, *, before: str = "") -> list[Message]:
    """Return the messages of a stored conversation that later questions may refer to.

    Given a turn's id, these are the messages `before` it; raises `UnknownConversation` without that turn.
    """
    turns = conversation.turns if conversation else ()
    ids = [turn.id for turn in turns]
    if before and before not in ids:
        raise unknown_turn(before)
    kept = turns[: ids.index(before)] if before else turns
    return [message for turn in kept for message in messages_of(turn.answer)]


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
    """Return a conversation, None without an id; raises `UnknownConversation`, also for another user's."""
    if not conversation_id:
        return None
    found = parts.conversations.get(conversation_id)
    if found.info.user != parts.user:
        raise not_of(parts.user, found.info)
    return found


class KeptConversation:
    """Where a chat's turns are stored; a new conversation gets its `id` with the first of them."""

    def __init__(self, parts: ChatParts, conversation_id: str) -> None:
        self.parts = parts
        self.id = conversation_id

    def keep(self, turn: RunningTurn, answer: Answer) -> Answer:
        """Store a turn with all its steps, replacing what was stored of it before."""
        usage = usage_of(turn.spent, self.parts.prices)
        turn.outcome = replace(
            answer,
            steps=tuple(turn.trace.steps),
            seconds=turn.trace.seconds,
            turn_id=turn.turn_id,
            usage=usage,
        )
        if not self.id:
            self._begin(turn)
        replaced = "" if turn.turn_id else turn.instead_of
        turn.turn_id = self.parts.conversations.save_turn(self.id, turn.outcome, instead_of=replaced)
        turn.outcome = replace(turn.outcome, turn_id=turn.turn_id, conversation_id=self.id)
        return turn.outcome

    def keep_if_possible(self, turn: RunningTurn, answer: Answer) -> Answer:
        """Return the answer, stored; where the store cannot be written, with a notice that says so."""
        try:
            return self.keep(turn, answer)
        except StoreError as error:
            notices = (*answer.notices, NOT_STORED.format(why=error))
            turn.outcome = replace(turn.finished, notices=notices, turn_id="")
            return turn.outcome

    def keep_so_far(self, turn: RunningTurn) -> None:
        """Store a turn that is being answered: as stopped, so that what a kill leaves behind says so."""
        self.keep(turn, turn.answer(text=turn.text, status="stopped"))

    def keep_so_far_if_possible(self, turn: RunningTurn) -> None:
        """Store a turn that is being answered; where that fails, the next call or the end stores it."""
        with suppress(StoreError):
            self.keep_so_far(turn)

    def keep_failed(self, turn: RunningTurn, why: str) -> Answer:
        """Store what there is of a failed turn, with why it ended as its last notice."""
        kept = turn.partial or turn.answer(text=turn.text)
        return self.keep(turn, replace(kept, status="failed", notices=(*turn.notices, why)))

    def _begin(self, turn: RunningTurn) -> None:
        parts = self.parts
        begun = parts.conversations.create(
            title_of(turn.message),
            user=parts.user,
            scope=as_scope(parts.options.paths),
        )
        self.id = begun.info.id
