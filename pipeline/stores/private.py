"""Private conversations: kept in this process while they are used, and nowhere else."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from pipeline.stores.conversations import Conversation, ConversationInfo, Turn
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.database import MemoryDatabase

UNUSED = 24 * 60 * 60.0
"""Seconds after which a private conversation that nobody has looked at is deleted."""


class PrivateConversations(EmbeddedConversations):
    """Fulfils `Conversations` in memory, and is gone with its process; the memory does not read its turns.

    One that was not used for `UNUSED` seconds is deleted: nothing says when a window was closed. `clock`
    returns the seconds of any epoch.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._used: dict[str, float] = {}  # when each was written or read last
        self._clock = clock
        self.database = MemoryDatabase(before=self._delete_unused)

    def __contains__(self, conversation_id: str) -> bool:
        return any(info.id == conversation_id for info in self.list())

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        found = super().get(conversation_id)
        self._used[conversation_id] = self._clock()
        return found

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's fields, new or in the place of those of the same id."""
        self._used[info.id] = self._clock()
        super().save(info)

    def write(self, conversation_id: str, turn: Turn) -> None:
        """Write a turn, new at the end or in the place of the one of its id; raises `UnknownConversation`."""
        super().write(conversation_id, turn)
        self._used[conversation_id] = self._clock()

    def _delete_unused(self, connection: sqlite3.Connection) -> None:
        limit = self._clock() - UNUSED
        for id_ in [id_ for id_, used in list(self._used.items()) if used < limit]:
            connection.execute("DELETE FROM conversation WHERE id = ?", (id_,))
            self._used.pop(id_, None)
