"""Ingests that are killed at random moments: every document stays whole or absent, the next completes it."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.stores.base import DocumentStore
from pipeline.stores.embedded import EmbeddedStore
from tests.contracts.conftest import BACKENDS
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import contents, findings, run_ingest
from tests.pipeline.killing import SEED, Ingests, assert_consistent, write_folder
from tests.server_stores import leftovers, server_addresses

pytestmark = [pytest.mark.kill, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

KILLS = int(os.environ.get("ATHENA_TEST_KILLS", "0"))
"""How often each of the three tests kills an ingest; 0 for the usual number."""

QUESTIONS = ["pump pressure", "valve of the tank", "section 7", "old words", "new words", "alarm 3"]

SCRIPT = """
from pathlib import Path
from tests.fakes import FakeEncoder

def ingest(place, folder, model, rebuild):
    store = opened(place)
    ingest_runs.run_ingest(store, Path(folder), encoder=FakeEncoder(name=model), rebuild=rebuild)
    store.close()
"""
# A step is a call that the store's writing modules make, to SQLite, tantivy or the file system.
EMBEDDED = """
import tantivy
from pipeline.stores.embedded import EmbeddedStore
WATCHED = ("database.py", "documents.py", "lexical.py", "store.py")

def is_step(file_name, event):
    return event == "c_call" and file_name.endswith(WATCHED)

def opened(place):
    return EmbeddedStore(Path(place))
"""
# A step is a call of a function of the store's writing modules.
SERVER = """
from pipeline.stores.server import ServerAddresses, ServerStore
WATCHED = ("index.py", "schema.py", "reading.py", "writing.py", "connections.py")

def is_step(file_name, event):
    return event == "call" and "stores/server" in file_name and file_name.endswith(WATCHED)

def opened(place):
    return ServerStore(ServerAddresses(**place))
"""


class Backend(NamedTuple):
    """Where ingests are killed: how often, in which new places, and how a store is opened there."""

    ingests: Ingests
    kills: int  # a test: a third at random times, the others at random steps, the same on every machine
    place: Callable[[], AbstractContextManager[Any]]
    open: Callable[[Any], DocumentStore]


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    @contextmanager
    def folder() -> Iterator[Path]:
        yield tmp_path_factory.mktemp("killed") / "data"

    @contextmanager
    def database() -> Iterator[dict[str, Any]]:
        with server_addresses() as addresses:
            yield addresses.model_dump()

    if request.param == "embedded":
        with closing(Ingests(EMBEDDED + SCRIPT)) as ingests:
            yield Backend(ingests, KILLS or 15, folder, EmbeddedStore)
        return
    from pipeline.stores.server import ServerAddresses, ServerStore

    with closing(Ingests(SERVER + SCRIPT)) as ingests:
        yield Backend(ingests, KILLS or 6, database, lambda place: ServerStore(ServerAddresses(**place)))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "manuals", version="old")


class Reference(NamedTuple):
    """What a store holds, and what it finds where that does not depend on what it held before."""

    contents: dict[str, object]
    findings: list[object]


def completed(store: DocumentStore, corpus: Path, *, model: str, rebuild: bool = False) -> Reference:
    """What there is after an ingest that nobody killed; the next one has nothing to do."""
    encoder = FakeEncoder(name=model)
    run_ingest(store, corpus, encoder=encoder, rebuild=rebuild)
    seen, found = contents(store), list[object]()
    assert_consistent(seen, store, encoder)
    if isinstance(store, EmbeddedStore):
        found = findings(store, encoder, QUESTIONS)
    else:
        assert leftovers(store) == []
    assert run_ingest(store, corpus, encoder=encoder).embedded == 0
    return Reference(seen, found)


def reference(backend: Backend, corpus: Path, *, model: str = "fake-encoder") -> Reference:
    """What there is after a first ingest."""
    with backend.place() as place, closing(backend.open(place)) as store:
        return completed(store, corpus, model=model)


def killed(backend: Backend, corpus: Path, *arguments: object, former: bool) -> Iterator[DocumentStore]:
    """Stores whose ingests were killed at random moments; a former one had the old version."""
    new = shutil.copytree(corpus, corpus.parent / "new")

    @contextmanager
    def prepared() -> Iterator[Any]:
        with backend.place() as place:
            if former:
                shutil.rmtree(corpus)
                write_folder(corpus, version="old")
                with closing(backend.open(place)) as store:
                    run_ingest(store, corpus, encoder=FakeEncoder())
                shutil.rmtree(corpus)
                shutil.copytree(new, corpus)
            yield place

    with prepared() as place:
        steps = backend.ingests.steps(place, corpus, *arguments)
    with prepared() as place:
        seconds = backend.ingests.seconds(place, corpus, *arguments)
    chooser, ingests, timed = random.Random(SEED), backend.ingests, backend.kills // 3
    kills = [partial(ingests.killed_at, chooser.randint(1, steps)) for _ in range(backend.kills - timed)]
    kills += [partial(ingests.killed_after, chooser.uniform(0, seconds)) for _ in range(timed)]
    for kill in kills:
        with prepared() as place:
            kill(place, corpus, *arguments)
            with closing(backend.open(place)) as store:
                yield store


def test_a_first_ingest(backend: Backend, corpus: Path) -> None:
    expected = reference(backend, corpus)
    for store in killed(backend, corpus, "fake-encoder", False, former=False):
        seen = contents(store)
        assert all(expected.contents[source] == content for source, content in seen.items())
        assert_consistent(seen, store, FakeEncoder())
        assert completed(store, corpus, model="fake-encoder") == expected


def test_an_ingest_of_changes(backend: Backend, corpus: Path) -> None:
    old = reference(backend, corpus).contents
    shutil.rmtree(corpus)
    write_folder(corpus, version="new")
    expected = reference(backend, corpus)
    new = expected.contents
    for store in killed(backend, corpus, "fake-encoder", False, former=True):
        seen = contents(store)
        assert old.keys() & new.keys() <= seen.keys() <= old.keys() | new.keys()
        assert all(content in (old.get(source), new.get(source)) for source, content in seen.items())
        assert_consistent(seen, store, FakeEncoder())
        assert completed(store, corpus, model="fake-encoder") == expected


def test_a_rebuild_with_another_model(backend: Backend, corpus: Path) -> None:
    old, expected = reference(backend, corpus).contents, reference(backend, corpus, model="other")
    for store in killed(backend, corpus, "other", True, former=True):
        manifest = store.statistics().manifest
        assert manifest is not None and contents(store).keys() == old.keys()
        rebuild = manifest.embedding_model != "other"
        if rebuild:
            assert contents(store) == old
        assert completed(store, corpus, model="other", rebuild=rebuild) == expected
