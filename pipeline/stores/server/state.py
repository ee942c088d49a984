"""The state of a store in MongoDB: which build is visible, how often it has changed, who writes to it.

- `build` names the visible build: its collections in Weaviate and its records in MongoDB.
- `generation` rises with every change of what is visible.
- `written` is the number of the last entry of the log of documents, of whichever build.
- `deleted` is the generation up to which replaced versions may have been deleted: readers of an older one
  read again.
- `writer` is the single writer's place across processes and machines: a lease, renewed. That of a dead
  process runs out; where the process can be seen to be dead, nobody waits for that. Times are the server's.

It is one record, changed by single updates, each of which only the holder of the writer's place can make: one
that lost it finds its next update refused.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pymongo
from pymongo import ReturnDocument

from pipeline.errors import AthenaError, StoreError
from pipeline.redaction import without_password
from pipeline.stores.base import Manifest
from pipeline.stores.server.addresses import MONGODB_SETTING
from pipeline.stores.server.mongo import Document, MongoServer

STATE_ID = "state"

LEASE_S = 10.0
RENEW_S = 2.0
END_S = 1.0  # an error of what was done with it must not wait for longer
WAIT_S = 15.0  # longer than a lease: a dead writer's has run out by then
POLL_S = 0.1

log = logging.getLogger(__name__)

_NOBODY: Document = {"owner": "", "machine": "", "pid": 0, "expires_at": 0.0}


@dataclass(frozen=True, slots=True)
class State:
    """The record, as it was read; without a store, nothing was ever written."""

    store: str = ""
    build: str | None = None
    manifest: Manifest | None = None
    generation: int = 0
    written: int = 0
    deleted: int = 0

    def shows_same(self, other: State) -> bool:
        """True where nothing that a reader sees has changed between the two."""
        return (self.store, self.build, self.generation, self.deleted) == (
            other.store,
            other.build,
            other.generation,
            other.deleted,
        )


def read_state(mongo: MongoServer) -> State:
    """The state as of now: one small read by id."""
    with mongo.collection("state") as states:
        record = states.find_one({"_id": STATE_ID})
    return State() if record is None else state_of(record)


def state_of(record: Document) -> State:
    """The state that a record holds."""
    return State(
        store=record["store"],
        build=record.get("build"),  # none, nor a manifest, before the first
        manifest=Manifest(**record["manifest"]) if record.get("manifest") else None,
        generation=record["generation"],
        written=record["written"],
        deleted=record["deleted"],
    )


def manifest_record(manifest: Manifest) -> Document:
    """A manifest as it is stored: its generation is the state's."""
    return asdict(replace(manifest, generation=0))


class WriterLease:
    """The writer's place while it is held."""

    def __init__(self, mongo: MongoServer, owner: str) -> None:
        self._mongo = mongo
        self._owner = owner
        self._renewed = time.monotonic()
        self._lost = False
        self._failure: AthenaError | None = None  # of the last attempt to renew it
        self._ended = threading.Event()
        # MongoDB changes a record in one piece. FerretDB 1.24 reads, changes and writes it: there, a
        # renewal beside a change of the state took the change back, and readers kept versions that were gone.
        self._one_at_a_time = threading.Lock()

    def update_state(self, changes: Document) -> None:
        """Change the state, in one update that is refused where the place was lost."""
        self.check()
        held = self._set(changes)
        self._mongo.state_written_at = time.monotonic()
        if not held:
            self._lost = True
            self.check()

    def check(self) -> None:
        """Raise where the place was lost, or may have been, or cannot be kept: then with the reason."""
        failure = self._failure
        if self._lost:
            raise StoreError(
                "Another process has taken the writer's place: this one was stopped for too long.",
                "What it had stored is whole; ingest again.",
            )
        if failure is not None:
            raise type(failure)(failure.problem, failure.fix) from failure
        if time.monotonic() - self._renewed > LEASE_S:
            raise StoreError(
                f"This process was stopped for over {LEASE_S:.0f} s and may have lost the writer's place.",
                "What it had stored is whole; ingest again.",
            )

    def keep(self) -> None:
        """Renew it until `end`; runs in a thread of its own, whose failures `check` raises."""
        while not self._ended.wait(RENEW_S):
            started = time.monotonic()
            try:
                held = self._set({"writer.expires_at": self._mongo.now() + LEASE_S})
            except AthenaError as error:
                self._failure = error
                continue
            self._lost = self._lost or not held
            self._failure = None
            self._renewed = started

    def end(self) -> None:
        """Give up the place; where the server does not answer, the lease runs out by itself."""
        self._ended.set()
        if self._failure is not None:
            return
        try:
            with pymongo.timeout(END_S):
                self._set({"writer": _NOBODY})
        except StoreError as error:
            log.info("The writer's place is free in %.0f s only: %s", LEASE_S, error)

    def _set(self, changes: Document) -> bool:
        """Change the state's record while the place is ours; False where it is not."""
        with self._one_at_a_time, self._mongo.collection("state") as states:
            done = states.update_one({"_id": STATE_ID, "writer.owner": self._owner}, {"$set": changes})
        return bool(done.matched_count)


@contextmanager
def writer_lease(mongo: MongoServer, url: str, *, wait_s: float) -> Iterator[tuple[WriterLease, State]]:
    """Hold the writer's place for the block; raises `StoreError`, naming who has it, after `wait_s`."""
    owner = uuid.uuid4().hex
    state = _acquire(mongo, url, owner=owner, wait_s=wait_s)
    lease = WriterLease(mongo, owner)
    keeper = threading.Thread(target=lease.keep, name="writer-lease", daemon=True)
    keeper.start()
    try:
        yield lease, state
    finally:
        lease.end()
        keeper.join()


def is_held(mongo: MongoServer) -> bool:
    """True while somebody writes."""
    return not _is_free(_holder(mongo), mongo.now())


def _acquire(mongo: MongoServer, url: str, *, owner: str, wait_s: float) -> State:
    deadline = time.monotonic() + wait_s
    _ensure_state(mongo)
    while True:
        holder = _holder(mongo)
        now = mongo.now()
        if _is_free(holder, now):
            taken = _take(mongo, holder, owner=owner, expires_at=now + LEASE_S)
            if taken is not None:
                return taken
        elif time.monotonic() >= deadline:
            raise _occupied(holder, url)
        else:
            time.sleep(POLL_S)


def _holder(mongo: MongoServer) -> Document:
    with mongo.collection("state") as states:
        record = states.find_one({"_id": STATE_ID}) or {}
    return dict(record.get("writer", _NOBODY))


def _take(mongo: MongoServer, holder: Document, *, owner: str, expires_at: float) -> State | None:
    """The state with the place taken from `holder`; None where somebody was faster."""
    seen = {"writer.owner": holder["owner"], "writer.expires_at": holder["expires_at"]}
    mine = {"owner": owner, "machine": machine(), "pid": os.getpid(), "expires_at": expires_at}
    with mongo.collection("state") as states:
        record = states.find_one_and_update(
            {"_id": STATE_ID, **seen}, {"$set": {"writer": mine}}, return_document=ReturnDocument.AFTER
        )
    return None if record is None else state_of(record)


def _ensure_state(mongo: MongoServer) -> None:
    empty = {"store": uuid.uuid4().hex[:8], "generation": 0, "written": 0, "deleted": 0, "writer": _NOBODY}
    with mongo.collection("state") as states, suppress(pymongo.errors.DuplicateKeyError):
        states.update_one({"_id": STATE_ID}, {"$setOnInsert": empty}, upsert=True)


def machine() -> str:
    """Names where a process id means something: the host, its boot, and the container on it."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return "/".join(parts)


def _is_free(holder: Document, now: float) -> bool:
    return not holder["owner"] or holder["expires_at"] < now or _is_dead(holder)


def _is_dead(holder: Document) -> bool:
    """True where the holder ran here and does not any more."""
    if holder["machine"] != machine() or "/" not in holder["machine"]:
        return False
    try:
        os.kill(holder["pid"], 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _occupied(holder: Document, url: str) -> StoreError:
    here = holder["machine"] == machine()
    if here and holder["pid"] == os.getpid():
        who = "this program itself"
    else:
        host = holder["machine"].partition("/")[0]
        who = f"another process (pid {holder['pid']})" + ("" if here else f" on '{host}'")
    store = f"'{without_password(url)}' ({MONGODB_SETTING})"
    return StoreError(
        f"Cannot write to the store at {store}: {who} is writing to it.",
        "Wait until it has finished, or stop it, and try again.",
    )
