"""Private conversations: kept in this process while they are used, and nowhere else."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.stores.conversations import Conversation, Turn
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.database import open_in_memory, store_errors

UNUSED = 24 * 60 * 60.0
"""Seconds after which a private conversation that nobody looked at is dropped."""


class PrivateConversations(EmbeddedConversations):
    """Fulfils `Conversations` in memory, and is gone with its process; nothing is remembered of its turns.

    One that was not used for `UNUSED` seconds is dropped: nobody says that a window was closed. `clock` tells
    the seconds of any epoch.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = _OneConnection(self._drop_unused)
        self._used: dict[str, float] = {}  # when each was written or read last
        self._clock = clock

    def __contains__(self, conversation_id: str) -> bool:
        return any(info.id == conversation_id for info in self.list())

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        found = super().get(conversation_id)
        self._used[conversation_id] = self._clock()
        return found

    def write(self, conversation_id: str, turn: Turn, *, instead_of: str = "") -> None:
        """Write a new turn, or its answer where it is there; raises as `save_turn` does."""
        super().write(conversation_id, turn, instead_of=instead_of)
        self._used[conversation_id] = self._clock()

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one of the same id."""
        self._used[conversation.info.id] = self._clock()
        super().restore(conversation)

    def unremembered(self, user: str) -> Sequence[Turn]:  # noqa: ARG002
        """None: nothing is remembered of what is private."""
        return ()

    def _drop_unused(self, connection: sqlite3.Connection) -> None:
        limit = self._clock() - UNUSED
        for id_ in [id_ for id_, used in list(self._used.items()) if used < limit]:
            connection.execute("DELETE FROM conversation WHERE id = ?", (id_,))
            self._used.pop(id_, None)


class _OneConnection:
    """A database in memory; `before` is called with its connection each time that it is lent."""

    def __init__(self, before: Callable[[sqlite3.Connection], None]) -> None:
        self._connection = open_in_memory()
        self._before = before
        self._lock = threading.RLock()

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """The connection for the block."""
        with self._lock, store_errors(Path(":memory:")):
            self._before(self._connection)
            yield self._connection

    def close(self) -> None:
        """Drop all that is in it."""
        self._connection.close()
