"""Memories in MongoDB: a record each; `memory_changes.py` says how a change of many is written whole."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from pipeline.errors import MemoriesChanged, StoreError
from pipeline.stores.memories import (
    MemoryChanges,
    MemoryEvent,
    Row,
    UserMemories,
    changed_meanwhile,
    check_user,
)
from pipeline.stores.memory_records import adapter, row_of, user_memories, without_turns
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.memory_changes import check_live, commit, settle, settle_all, version_of
from pipeline.stores.server.mongo import Document, chunks
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.stored_turns import check_turns, mark_remembered, own_turns, with_versions

TRIES = 50  # of a write or a read that others' changes get in the way of


class ServerMemories:
    """Fulfils `Memories`; safe to use from several threads, processes and machines."""

    graph = None

    def __init__(self, addresses: ServerAddresses) -> None:
        self._servers = Servers(addresses)
        self._opened = False

    def identity(self) -> str:
        """What names this database alone, for as long as it exists."""
        with self._database() as database:
            stores = database["memory_store"]
            while (record := stores.find_one({"_id": "identity"})) is None:
                with suppress(DuplicateKeyError):  # another process names it at the same moment
                    stores.insert_one({"_id": "identity", "name": uuid.uuid4().hex})
        return str(record["name"])

    def users(self) -> list[str]:
        """All users of whom something is remembered, by name."""
        with self._database() as database:
            return sorted(database["memories"].distinct("user", {"gone": False}))

    def version(self, user: str) -> int:
        """A number that grows with each change of this user's rows; 0 for somebody unknown."""
        with self._database() as database:
            return version_of(database, user)

    def load(self, user: str) -> UserMemories:
        """All rows of a user, history included, as of one moment, the oldest first."""
        with self._database() as database:
            for _ in range(TRIES):
                version = settle(database, user)
                records = [*database["memories"].find({"user": user, "gone": False})]
                if version_of(database, user) == version:
                    return user_memories(user, version, map(_row, records))
        raise _too_busy(user)

    def apply(self, user: str, changes: MemoryChanges, *, expected: int | None = None) -> int:
        """Write all of it or nothing, and return the new version; raises `MemoriesChanged`."""
        return self._write(user, changes, expected=expected)

    def events(self, user: str, memory_id: str = "") -> list[MemoryEvent]:
        """What was done, oldest first; of one memory, or of all."""
        where = {"user": user} | ({"memory_id": memory_id} if memory_id else {})
        with self._database() as database:
            settle(database, user)
            records = [*database["memory_events"].find(where)]
        # Of one time, the order is that of versions.
        records.sort(key=lambda record: (record["version"], record["number"]))
        events = (adapter("event").validate_json(record["row"]) for record in records)
        return sorted(events, key=lambda event: event.at)

    def forget(
        self,
        user: str,
        changes: MemoryChanges,
        *,
        words: Sequence[str] = (),
        turns: Collection[str] = (),
        expected: int | None = None,
    ) -> None:
        """As `apply`, and then no record has a byte of it; what MongoDB's journal keeps is its own affair."""
        self._write(user, changes, expected=expected, words=words, turns=turns)
        self.leave_turns(user, [*turns], gone=True)

    def leave_turns(self, user: str, turns: Sequence[str], *, gone: bool = False) -> None:
        """Let no row name these turns: their conversation is about to be deleted.

        Once they are `gone`, it makes a version even where no row names them: whoever has read one of them
        and has not written yet decides again, and finds it gone.
        """
        for some in chunks(turns):
            for _ in range(TRIES):
                try:
                    self._leave(user, some, always=gone)
                    break
                except MemoriesChanged:
                    continue
            else:
                raise _too_busy(user)

    def close(self) -> None:
        """Give up the connections; the last one in the process to do so closes them."""
        self._servers.close()

    def _leave(self, user: str, turns: Sequence[str], *, always: bool) -> None:
        with self._database() as database:
            version = settle(database, user)
            named = {"user": user, "gone": False, "named": {"$in": [*turns]}}
            changes = without_turns(map(_row, database["memories"].find(named)), turns)
        self._write(user, changes, expected=version, always=always)

    def _write(
        self,
        user: str,
        changes: MemoryChanges,
        *,
        expected: int | None = None,
        words: Sequence[str] = (),
        turns: Collection[str] = (),
        always: bool = False,
    ) -> int:
        check_user(user, changes)
        self._servers.mongo.ensure_indexes()
        with self._database() as database:
            for _ in range(TRIES):
                version = settle(database, user)
                if expected not in (None, version):
                    raise changed_meanwhile(user)
                check_turns(database, user, changes.rests_on)
                if not (changes.changes_rows or words or turns or always):
                    mark_remembered(database, user, [*changes.remembered])
                    return version
                check_live(database, user, changes)
                own = [*own_turns(database, user, with_versions(database, turns))]
                if commit(database, user, version + 1, changes, words=words, turns=own):
                    settle(database, user)
                    return version + 1
        raise _too_busy(user)

    @contextmanager
    def _database(self) -> Iterator[Database[Document]]:
        """The database for the block; at its first use, what killed writers left is settled."""
        with self._servers.mongo.database() as database:
            if not self._opened:
                settle_all(database)
                self._opened = True
            yield database


def _row(record: Document) -> Row:
    return row_of(record["kind"], record["row"], record["embedding"])


def _too_busy(user: str) -> StoreError:
    return StoreError(f"The memories of '{user}' are being changed all the time.", "Try again.")
