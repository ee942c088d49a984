"""Memories whose graph is in Neo4j, too.

The store's rows are the truth. What Neo4j has of a user carries the version of the rows that it was written
from; where that is not the store's, it is written anew: after a kill between the two, a restored backup, or
what a process without Neo4j has written.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pipeline.errors import ErasureIncomplete, MemoriesChanged, StoreError, StoreUnavailable
from pipeline.stores.memories import (
    Around,
    Memories,
    Memory,
    MemoryChanges,
    MemoryEvent,
    MemoryGraph,
    UserMemories,
    changed_meanwhile,
    check_user,
)
from pipeline.stores.neo4j.graph import Neo4jGraph, Owner

TRIES = 50  # that others' changes get in the way of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Examination:
    """What Neo4j has of a store; `behind` are users whose graph had to be written anew."""

    server: str
    entities: int
    relations: int
    behind: tuple[str, ...]


class MemoriesWithGraph:
    """Fulfils `Memories` and `MemoryGraph`: rows of another store, neighbourhoods by Neo4j."""

    def __init__(self, memories: Memories, graph: Neo4jGraph) -> None:
        self._memories = memories
        self._graph = graph
        self._lock = threading.Lock()
        self._healed = False

    @property
    def graph(self) -> MemoryGraph:
        """This, too."""
        return self

    def identity(self) -> str:
        """What names the store alone, for as long as it exists."""
        return self._memories.identity()

    def users(self) -> list[str]:
        """All users of whom something is remembered, by name."""
        return self._memories.users()

    def version(self, user: str) -> int:
        """A number that grows with each change of this user's rows; 0 for somebody unknown."""
        return self._memories.version(user)

    def load(self, user: str) -> UserMemories:
        """All rows of a user, history included, as of one moment: the store's, also while Neo4j is down."""
        try:
            self._heal()
            self._bring_up(user)
        except StoreUnavailable as error:
            logger.warning("the graph is behind until its next use: %s", error)
        return self._memories.load(user)

    def apply(self, user: str, changes: MemoryChanges, *, expected: int | None = None) -> int:
        """Write all of it or nothing, and return the new version; raises `MemoriesChanged`.

        Nothing is written where Neo4j does not answer.
        """
        check_user(user, changes)
        if not changes.changes_rows:
            return self._memories.apply(user, changes, expected=expected)
        self._heal()
        self._bring_up(user)
        version = self._memories.apply(user, changes, expected=expected)
        self._follow(user, changes, version=version)
        return version

    def events(self, user: str, memory_id: str = "") -> list[MemoryEvent]:
        """What was done, oldest first; of one memory, or of all."""
        return self._memories.events(user, memory_id)

    def forget(
        self,
        user: str,
        changes: MemoryChanges,
        *,
        words: Sequence[str] = (),
        turns: Collection[str] = (),
        expected: int | None = None,
    ) -> None:
        """As `apply`, but Neo4j first: killed at any moment, it has nothing that the store has forgotten."""
        check_user(user, changes)
        if expected not in (None, self._memories.version(user)):
            raise changed_meanwhile(user)
        self._heal()
        self._withdraw(user, changes)
        try:
            self._memories.forget(user, changes, words=words, turns=turns, expected=expected)
        except (ErasureIncomplete, MemoriesChanged):
            self._catch_up(user)
            raise
        self._catch_up(user)

    def around(self, user: str, entity_ids: Sequence[str], *, depth: int, most: int, version: int) -> Around:
        """What is within `depth` relations of any of a user's entities: `most` entities, nearest first."""
        owner = self._owner(user)
        found = self._graph.around(owner, entity_ids, depth=depth, most=most)
        if found.version != version:
            self._bring_up(user)
            found = self._graph.around(owner, entity_ids, depth=depth, most=most)
        return found.around

    def examine(self) -> Examination:
        """What Neo4j has of this store, once it is as new as the store; raises `StoreError`."""
        server = self._graph.server()
        behind = self._bring_all_up()
        return Examination(server, *self._graph.counts(self.identity()), behind=behind)

    def close(self) -> None:
        """Release files and connections."""
        self._graph.close()
        self._memories.close()

    # -- keeping both in step ---------------------------------------------------------------------------

    def _owner(self, user: str) -> Owner:
        return Owner(self.identity(), user)

    def _heal(self) -> None:
        """At the first use, write anew what a killed process, or one without Neo4j, has left behind."""
        with self._lock:
            if not self._healed:
                self._bring_all_up()
                self._healed = True

    def _bring_all_up(self) -> tuple[str, ...]:
        there = self._graph.versions(self.identity())
        users = sorted({*there, *self._memories.users()})
        behind = [user for user in users if there.get(user, 0) != self._memories.version(user)]
        return tuple(user for user in behind if self._bring_up(user))

    def _bring_up(self, user: str) -> bool:
        """Write a user's graph anew where it is not of the store's version; whether it was."""
        owner, wrote = self._owner(user), False
        for _ in range(TRIES):
            there = self._graph.version(owner)
            if there == self._memories.version(user):
                return wrote
            wrote = self._graph.replace(owner, self._memories.load(user), before=there)
        raise _too_busy(user)

    def _follow(self, user: str, changes: MemoryChanges, *, version: int) -> None:
        """Write to Neo4j what the store has written; what fails now is done at the next use."""
        try:
            if not self._graph.follow(self._owner(user), changes, before=version - 1, version=version):
                self._bring_up(user)
        except StoreError as error:
            logger.warning("the graph is behind until its next use: %s", error)

    def _withdraw(self, user: str, changes: MemoryChanges) -> None:
        """Take away what is about to be removed or replaced; what stays comes back afterwards."""
        replaced = [row.id for row in changes.rows if not isinstance(row, Memory)]
        for _ in range(TRIES):
            self._bring_up(user)
            version = self._memories.version(user)
            if self._graph.withdraw(self._owner(user), [*changes.removed, *replaced], before=version):
                return
        raise _too_busy(user)

    def _catch_up(self, user: str) -> None:
        try:
            self._bring_up(user)
        except StoreError as error:
            logger.warning("the graph is behind until its next use: %s", error)


def _too_busy(user: str) -> StoreError:
    return StoreError(f"The memories of '{user}' are being changed all the time.", "Try again.")
