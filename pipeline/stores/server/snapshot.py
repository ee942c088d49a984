"""What a reader sees: one build, and of each document in it one version; and what he keeps of them.

Readers keep what they saw last and learn from the state, one small read, whether it still holds. Nothing
of a version is deleted while a reader's snapshot may name it, unless the state says so: then he reads again.

What is answered from memory rests on a look at the state that is .2 s old at most, and younger than what
this process wrote: an answer asks eleven times, and each look is two changes of threads. A version never
changes: what is kept of a visible one is current.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

from cachetools import LRUCache

from pipeline.errors import StoreError
from pipeline.stores.base import DocumentInfo, Manifest
from pipeline.stores.server.mongo import MongoServer
from pipeline.stores.server.records import Record, read_records
from pipeline.stores.server.state import State, read_state

Result = TypeVar("Result")
Item = TypeVar("Item")

ATTEMPTS = 20  # far more than a writer, who deletes at most once a second, can spoil
IN_FLUX_S = 2.0  # after a change, the state is also read before
LOOK_HOLDS_S = 0.2


class Versioned(NamedTuple, Generic[Item]):
    """Something of one version, and the room that it takes where it is kept."""

    version: str
    item: Item
    size: int = 1


class Kept(Generic[Item]):
    """What was read lately, by key, the least recently used dropped first; safe for several threads."""

    def __init__(self, max_size: int) -> None:
        self._items: LRUCache[str, Versioned[Item]] = LRUCache(max_size, getsizeof=attrgetter("size"))
        self._lock = threading.Lock()

    def get_many(self, keys: Iterable[str], versions: Collection[str]) -> dict[str, Item]:
        """Those that are kept, of one of the versions."""
        with self._lock:
            found = {key: kept for key in keys if (kept := self._items.get(key)) is not None}
        return {key: kept.item for key, kept in found.items() if kept.version in versions}

    def put(self, items: Mapping[str, Versioned[Item]]) -> None:
        """Keep some more, in the place of those with their keys; not one that is too large alone."""
        with self._lock:
            for key, item in items.items():
                self._items.pop(key, None)
                with suppress(ValueError):  # too large
                    self._items[key] = item


@dataclass(frozen=True)
class Snapshot:
    """The state, and the documents that were visible in it, by version."""

    state: State
    documents: Mapping[str, DocumentInfo]

    @property
    def build(self) -> str | None:
        """The visible build."""
        return self.state.build

    @cached_property
    def versions(self) -> dict[str, str]:
        """The visible version of each source."""
        return {info.source: version for version, info in self.documents.items()}

    @cached_property
    def newest(self) -> float:
        """When the newest document was written."""
        return max((info.indexed_at for info in self.documents.values()), default=0.0)

    @cached_property
    def by_source(self) -> tuple[DocumentInfo, ...]:
        """The documents in the order of their sources."""
        return tuple(sorted(self.documents.values(), key=lambda info: info.source))

    @cached_property
    def sentences(self) -> int:
        """How many sentences the documents have."""
        return sum(info.sentences for info in self.documents.values())

    @property
    def manifest(self) -> Manifest | None:
        """What the visible build was made with; None while it has no document."""
        return self.state.manifest if self.documents else None

    def holds_in(self, state: State) -> bool:
        """True where nothing of it has been deleted by `state`."""
        return self.build == state.build and state.deleted <= self.state.generation

    def get_many(
        self,
        kept: Kept[Item],
        keys: Collection[str],
        fetch: Callable[[Snapshot, list[str]], Mapping[str, Versioned[Item]]],
    ) -> dict[str, Item]:
        """What is kept by key, and what `fetch` finds of the others; to be called only while it is read."""
        found = kept.get_many(keys, self.documents)
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            fetched = fetch(self, missing)
            kept.put(fetched)
            found |= {key: versioned.item for key, versioned in fetched.items()}
        return found


class Snapshots:
    """The newest snapshot of a process; safe to use from several threads."""

    def __init__(self, mongo: Callable[[], MongoServer]) -> None:
        self._mongo = mongo
        self._lock = threading.Lock()
        self._newest: Snapshot | None = None
        self._changed_at = -IN_FLUX_S
        self._looked_at = -LOOK_HOLDS_S

    def remember(self, remember: Callable[[Snapshot], Result | None]) -> Result | None:
        """What `remember`, which asks no server, makes of a snapshot that was the newest just now.

        None where that is not known, or by `remember` itself: then it has to be read.
        """
        now, snapshot = time.monotonic(), self._newest
        if snapshot is None or now - self._looked_at > LOOK_HOLDS_S or now - self._changed_at < IN_FLUX_S:
            return None
        return None if self._looked_at < self._mongo().state_written_at else remember(snapshot)

    def recall(
        self, remember: Callable[[Snapshot], Result | None], read: Callable[[Snapshot], Result]
    ) -> Result:
        """What `remember` knows, or else what `read` finds."""
        known = self.remember(remember)
        return self.read(read) if known is None else known

    def known(self, of: Callable[[Snapshot], Result]) -> Result:
        """What a snapshot alone tells."""
        return self.recall(of, of)

    def get_many(
        self,
        kept: Kept[Item],
        keys: Collection[str],
        fetch: Callable[[Snapshot, list[str]], Mapping[str, Versioned[Item]]],
    ) -> dict[str, Item]:
        """What is kept of visible versions by key, and what `fetch` finds of the other keys."""

        def remember(snapshot: Snapshot) -> dict[str, Item] | None:
            found = kept.get_many(keys, snapshot.documents)
            return found if len(found) == len(set(keys)) else None

        return self.recall(remember, lambda snapshot: snapshot.get_many(kept, keys, fetch))

    def read(self, read: Callable[[Snapshot], Result]) -> Result:
        """What `read` makes of a snapshot of which nothing is deleted while it reads.

        In quiet times the snapshot is known before, and one small read after it tells that it is the newest.
        """
        in_flux = time.monotonic() - self._changed_at < IN_FLUX_S
        snapshot = self._newest
        for attempt in range(ATTEMPTS):
            if snapshot is None or in_flux or attempt:
                snapshot = self._refresh(read_state(self._mongo()))
            failure: StoreError | None = None
            try:
                result = read(snapshot)
            except StoreError as error:
                failure = error
            looked_at = time.monotonic()
            state = read_state(self._mongo())
            if state.shows_same(snapshot.state) and snapshot is self._newest:
                self._looked_at = looked_at
            if state.shows_same(snapshot.state) or ((in_flux or attempt) and snapshot.holds_in(state)):
                if failure is not None:
                    raise failure
                return result
        raise StoreError("The index changes faster than it can be read.", "Try again in a moment.")

    def _refresh(self, state: State) -> Snapshot:
        """The snapshot of `state`: only what changed since the last one is read."""
        with self._lock:
            newest = self._newest
            if newest is not None and _is_at_least(newest.state, state):
                return newest
            documents: dict[str, DocumentInfo] = {}
            after = 0
            if newest is not None and newest.holds_in(state):
                documents, after = dict(newest.documents), newest.state.written
            if state.build is not None:
                _apply(documents, read_records(self._mongo(), state.build, after=after))
            self._newest = Snapshot(state, documents)
            self._changed_at = time.monotonic()
            return self._newest


def _apply(documents: dict[str, DocumentInfo], records: Iterable[Record]) -> None:
    """Bring the visible documents, by version, up to date with entries of the log."""
    versions = {info.source: version for version, info in documents.items()}
    for record in records:
        documents.pop(versions.pop(record.source, ""), None)
        if record.version is not None and record.info is not None:
            documents[record.version] = record.info
            versions[record.source] = record.version


def _is_at_least(known: State, state: State) -> bool:
    """True where what is known is as new as `state`, which may have been read a moment ago."""
    same = (known.store, known.build) == (state.store, state.build)
    return same and known.generation >= state.generation and known.deleted >= state.deleted
