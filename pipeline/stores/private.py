"""Private conversations: kept in the memory of this process, and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable

from pipeline.stores.conversations import ConversationInfo, Conversations
from pipeline.stores.embedded.database import MemoryDatabase
from pipeline.stores.embedded.rows import EmbeddedRows

UNUSED_S = 24 * 60 * 60.0
"""A private conversation is deleted this long after its last turn: no event reports a closed window."""


class PrivateConversations(Conversations):
    """Conversations in memory, until the process ends or for a day without a new turn."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(EmbeddedRows(MemoryDatabase()), clock=clock)

    def __contains__(self, conversation_id: str) -> bool:
        return any(info.id == conversation_id for info in self.list())

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's own fields; delete all conversations unused for `UNUSED_S` seconds."""
        for old in self.list():
            if old.updated_at < self.clock() - UNUSED_S:
                self.delete(old.id)
        super().save(info)
