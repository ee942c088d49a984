"""Private conversations: kept in this process, and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable

from pipeline.stores.conversations import ConversationInfo
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.database import MemoryDatabase

UNUSED_S = 24 * 60 * 60.0
"""A private conversation without a new turn for so long is deleted: no event tells when a window closes."""


class PrivateConversations(EmbeddedConversations):
    """Fulfils `Conversations` in memory, until the process ends; the memory does not read its turns."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(MemoryDatabase())
        self.clock = clock

    def __contains__(self, conversation_id: str) -> bool:
        return any(info.id == conversation_id for info in self.list())

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's fields, and delete the conversations that nobody uses any more."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM conversation WHERE updated_at < ?", (self.clock() - UNUSED_S,))
        super().save(info)
