"""Writes of memories that are killed: a change is there whole or not at all, and so is forgetting."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.stores import memories
from pipeline.stores.base import Store
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.memories import MemoryChanges, UserMemories
from tests.contracts.conftest import BACKENDS
from tests.contracts.memories import embedding, found_in_files, memory
from tests.pipeline.killing import SEED, Ingests
from tests.pipeline.stores.forgotten import FORGETTING, FORMS, KEPT, USER, fill
from tests.server_stores import everything, server_addresses

pytestmark = [pytest.mark.kill, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

SCRIPT = """
from tests.pipeline import ingest_runs
from tests.pipeline.stores.forgotten import FORGETTING, USER
from tests.pipeline.stores.test_memory_kills import WRITING

def ingest(place, what):
    store = opened(place)
    changes = FORGETTING if what == "forget" else WRITING
    store.memories.apply(USER, changes, expected=1, erase=what == "forget")
    store.close()
"""
EMBEDDED = """
from pathlib import Path
from pipeline.stores.embedded import EmbeddedStore

WATCHED = ("stores/memories.py", "embedded/database.py")

def opened(path):
    return EmbeddedStore(Path(path))

def is_step(file_name, event):
    return event in ("call", "c_call") and file_name.endswith(WATCHED)
"""
SERVER = """
from pipeline.stores.server import ServerAddresses, ServerStore

WATCHED = ("stores/memories.py", "pymongo/synchronous/pool.py")

def opened(addresses):
    return ServerStore(ServerAddresses(**addresses))

def is_step(file_name, event):
    return event == "call" and file_name.endswith(WATCHED)
"""


def _writing() -> MemoryChanges:
    """A change of many rows: some new, all that stay replaced, one removed."""
    new = tuple(memory(f"New {number}.", id=f"new-{number}", embedding=embedding(2)) for number in range(20))
    kept = tuple(memory(f"Kept {number}, too.", id=f"kept-{number}") for number in range(1, KEPT))
    return MemoryChanges(memories=(*new, *kept), removed=("kept-0",))


WRITING = _writing()


class Backend(NamedTuple):
    """Where writes are killed, and what is there afterwards."""

    processes: Ingests
    kills: dict[str, int]  # at steps, for each kind of change
    seconds: float  # about as long as one takes
    place: Callable[[], AbstractContextManager[Any]]
    store: Callable[[Any], Store]
    has_secret: Callable[[Any], bool]  # in any file or record


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    @contextmanager
    def file() -> Iterator[Path]:
        yield tmp_path_factory.mktemp("killed")

    @contextmanager
    def database() -> Iterator[dict[str, Any]]:
        with server_addresses() as addresses:
            yield addresses.model_dump()

    def in_files(path: Path) -> bool:
        return bool(found_in_files(path, FORMS))

    if request.param == "embedded":
        with closing(Ingests(EMBEDDED + SCRIPT)) as processes:
            counts = {"write": 12, "forget": 25}
            yield Backend(processes, counts, 0.1, file, EmbeddedStore, in_files)
        return
    from pipeline.stores.server import ServerAddresses, ServerStore

    with closing(Ingests(SERVER + SCRIPT)) as processes:
        yield Backend(
            processes,
            {"write": 6, "forget": 8},
            0.3,
            database,
            lambda place: ServerStore(ServerAddresses(**place)),
            lambda place: "48151623" in everything(ServerAddresses(**place)),
        )


@contextmanager
def filled(backend: Backend) -> Iterator[Any]:
    """A place with a conversation of the secret and what was remembered of it."""
    with backend.place() as place:
        with closing(backend.store(place)) as store:
            fill(store)
        yield place


def contents(loaded: UserMemories) -> dict[str, str]:
    """What each row says, but for its version."""
    rows = (*loaded.memories, *loaded.entities, *loaded.mentions)
    return {row.id: getattr(row, "text", "") for row in rows}


@pytest.mark.parametrize(("what", "changes"), [("write", WRITING), ("forget", FORGETTING)])
def test_a_killed_change_is_there_whole_or_not_at_all(
    backend: Backend, what: str, changes: MemoryChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memories, "LONGEST_WRITE_S", 5.0)  # a server goes on with what it was sent
    processes, chooser = backend.processes, random.Random(SEED)
    with filled(backend) as place:
        with closing(backend.store(place)) as store:
            before = contents(store.memories.load(USER))
        steps = processes.steps(place, what)
    rows = {row.id: row.text for row in changes.memories}
    expected = {id_: text for id_, text in (before | rows).items() if id_ not in changes.removed}
    assert steps > backend.kills[what]
    places = [*(chooser.randint(1, steps) for _ in range(backend.kills[what] - 1)), steps - 2]
    kills = [partial(processes.killed_at, place) for place in places]
    kills += [partial(processes.killed_after, chooser.uniform(0, backend.seconds)) for _ in range(2)]
    seen = set()
    for kill in kills:
        with filled(backend) as place:
            kill(place, what)
            seen.add(outcome(backend, place, changes, before, expected))
    assert False in seen
    assert what == "write" or True in seen


def outcome(
    backend: Backend, place: Any, changes: MemoryChanges, before: dict[str, str], expected: dict[str, str]
) -> bool:
    """Whether a killed change was made; whole or not at all, and its words are where its rows are."""
    with closing(backend.store(place)) as store:
        conversations, now = store.conversations, contents(store.memories.load(USER))
        assert now in (before, expected)
        wholes = [conversations.get(info.id) for info in conversations.list()]
        said = [whole.info.title for whole in wholes]
        said += [f"{turn}" for whole in wholes for turn in whole.turns]
        is_said = changes is not FORGETTING or now == before
        if isinstance(place, dict):  # servers delete the turns first
            assert is_said or not backend.has_secret(place)
        else:
            assert ("48151623" in "\n".join(said)) == backend.has_secret(place) == is_said
    return now == expected
