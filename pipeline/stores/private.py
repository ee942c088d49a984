"""Private conversations: kept in this process while they are used, and nowhere else."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

from pipeline.answer import Answer
from pipeline.options import DEFAULT_USER
from pipeline.stores.conversations import (
    Conversation,
    ConversationInfo,
    Turn,
    said_in,
    title_of,
    unknown_conversation,
    unknown_turn,
)
from pipeline.stores.memories import turn_changed

UNUSED = 24 * 60 * 60.0
"""Seconds after which a private conversation that nobody looked at is dropped."""


class PrivateConversations:
    """Fulfils `Conversations` in memory, and is gone with its process; nothing is remembered of its turns.

    One that was not used for `UNUSED` seconds is dropped: nobody says that a window was closed. `clock` tells
    the seconds of any epoch.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: dict[str, Conversation] = {}
        self._used: dict[str, float] = {}  # when each was written or read last
        self._clock = clock
        self._lock = threading.Lock()

    def __contains__(self, conversation_id: str) -> bool:
        with self._lock:
            self._drop_unused()
            return conversation_id in self._kept

    def _drop_unused(self) -> None:
        limit = self._clock() - UNUSED
        for conversation_id in [id_ for id_, used in self._used.items() if used < limit]:
            self._kept.pop(conversation_id, None)
            del self._used[conversation_id]

    def create(self, title: str = "", *, user: str = DEFAULT_USER, assistant: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""
        now = time.time()
        made = Conversation(ConversationInfo(str(uuid.uuid4()), title, now, now, 0, user, assistant), ())
        self.restore(made)
        return made

    def list(
        self,
        *,
        user: str | None = None,
        limit: int | None = None,
        before: ConversationInfo | None = None,
        pinned: bool | None = None,
        words: str = "",
    ) -> list[ConversationInfo]:
        """Those of one user, or of all, the latest used first: the first `limit` of those after `before`."""
        with self._lock:
            self._drop_unused()
            everything = list(self._kept.values())
        infos = [
            kept.info
            for kept in everything
            if user in (None, kept.info.user) and pinned in (None, kept.info.pinned) and _has(kept, words)
        ]
        after = [info for info in infos if before is None or _place(info) < _place(before)]
        return sorted(after, key=_place, reverse=True)[:limit]

    def users(self) -> Sequence[str]:
        """All users that have a conversation, by name."""
        return sorted({info.user for info in self.list()})

    def unremembered(self, user: str) -> Sequence[Turn]:  # noqa: ARG002
        """None: nothing is remembered of what is private."""
        return ()

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._lock:
            return self._get(conversation_id)

    def _get(self, conversation_id: str) -> Conversation:
        self._drop_unused()
        found = self._kept.get(conversation_id)
        if found is None:
            raise unknown_conversation(conversation_id)
        self._used[conversation_id] = self._clock()
        return found

    def rename(self, conversation_id: str, title: str) -> None:
        """Give it another title; raises `UnknownConversation`."""
        with self._lock:
            kept = self._get(conversation_id)
            self._kept[conversation_id] = replace(kept, info=replace(kept.info, title=title.strip()))

    def set_scope(self, conversation_id: str, scope: Sequence[str]) -> None:
        """Ask only the documents that these globs mean from now on, or all; raises `UnknownConversation`."""
        with self._lock:
            kept = self._get(conversation_id)
            self._kept[conversation_id] = replace(kept, info=replace(kept.info, scope=tuple(scope)))

    def pin(self, conversation_id: str, *, pinned: bool) -> None:
        """Pin it, or take that back; raises `UnknownConversation`."""
        with self._lock:
            kept = self._get(conversation_id)
            self._kept[conversation_id] = replace(kept, info=replace(kept.info, pinned=pinned))

    def delete(self, conversation_id: str) -> None:
        """Remove it with all its turns; raises `UnknownConversation`."""
        with self._lock:
            self._get(conversation_id)
            del self._kept[conversation_id], self._used[conversation_id]

    def save_turn(
        self,
        conversation_id: str,
        answer: Answer,
        *,
        remembered: bool = False,  # noqa: ARG002
    ) -> str:
        """Keep a turn, new or in the place of the one that `answer.turn_id` names; returns its id."""
        now = time.time()
        answer = replace(answer, turn_id=answer.turn_id or str(uuid.uuid4()), conversation_id=conversation_id)
        with self._lock:
            kept = self._get(conversation_id)
            turns = {turn.id: turn for turn in kept.turns}
            before = turns.get(answer.turn_id, Turn(answer.turn_id, answer.question, answer, now))
            if before.question != answer.question:
                raise turn_changed()
            turns[answer.turn_id] = replace(before, answer=answer)
            title = kept.info.title or title_of(answer.question)
            info = replace(kept.info, updated_at=now, title=title, turns=len(turns))
            self._kept[conversation_id] = Conversation(info, tuple(turns.values()))
        return answer.turn_id

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        found = self.get(self.conversation_of(turn_id)).turns
        return next(turn for turn in found if turn.id == turn_id)

    def conversation_of(self, turn_id: str) -> str:
        """The id of the conversation that has a turn; raises `UnknownConversation`."""
        with self._lock:
            self._drop_unused()
            for id_, kept in self._kept.items():
                if any(turn.id == turn_id for turn in kept.turns):
                    return id_
        raise unknown_turn(turn_id)

    def change_answer(self, turn_id: str, change: Callable[[Answer], Answer]) -> None:
        """Keep what `change` makes of a turn's answer; nothing where it is gone."""
        with self._lock:
            for id_, kept in self._kept.items():
                turns = (
                    replace(turn, answer=change(turn.answer)) if turn.id == turn_id else turn
                    for turn in kept.turns
                )
                self._kept[id_] = replace(kept, turns=tuple(turns))

    def set_feedback(self, turn_id: str, value: int | None, text: str = "") -> None:
        """Keep what the reader thought of an answer: 1, -1, or None to take it back."""
        with self._lock:
            for id_, kept in self._kept.items():
                if any(turn.id == turn_id for turn in kept.turns):
                    turns = (
                        replace(turn, feedback=value, feedback_text=text) if turn.id == turn_id else turn
                        for turn in kept.turns
                    )
                    self._kept[id_] = replace(kept, turns=tuple(turns))
                    return
        raise unknown_turn(turn_id)

    def restore(self, conversation: Conversation) -> None:
        """Keep a conversation whole, with its ids and times, in the place of one of the same id."""
        info = replace(conversation.info, turns=len(conversation.turns))
        with self._lock:
            self._kept[info.id] = replace(conversation, info=info)
            self._used[info.id] = self._clock()

    def close(self) -> None:
        """Drop all of them."""
        with self._lock:
            self._kept.clear()
            self._used.clear()


def _has(kept: Conversation, words: str) -> bool:
    said = [kept.info.title, *(said_in(turn.question, turn.answer.text) for turn in kept.turns)]
    return all(any(word in text.casefold() for text in said) for word in words.casefold().split())


def _place(info: ConversationInfo) -> tuple[float, str]:
    return info.updated_at, info.id
