"""Ingests into the real servers, killed at random moments: documents stay whole, the next mends the rest."""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from pipeline.stores.server import ServerAddresses, ServerStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import contents, run_ingest
from tests.pipeline.killing import SEED, Ingests, assert_consistent, write_folder
from tests.server_stores import server_addresses

STEP_KILLS = 4  # a scenario: at a step of the store chosen at random
TIMED_KILLS = 2  # a scenario: at a random time
SECONDS = 1.2  # about as long as an ingest takes

# A step is a call of a function of the store's writing modules.
SCRIPT = """
from pathlib import Path
import pipeline.stores.server.writing as writing
from pipeline.stores.server import ServerAddresses, ServerStore
from tests.fakes import FakeEncoder
writing.GROUP_NODES = 60
WATCHED = ("objects.py", "schema.py", "records.py", "state.py", "writing.py", "mongo.py")

def is_step(file_name, event):
    return event == "call" and "stores/server" in file_name and file_name.endswith(WATCHED)

def ingest(addresses, folder, model="fake-encoder", rebuild=False):
    store = ServerStore(ServerAddresses(**addresses))
    ingest_runs.run_ingest(store, Path(folder), encoder=FakeEncoder(name=model), rebuild=rebuild)
    store.close()
"""

Contents = dict[str, object]
Kill = Callable[..., None]

pytestmark = [
    pytest.mark.server,
    pytest.mark.kill,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]


@pytest.fixture(scope="module")
def ingests() -> Iterator[Ingests]:
    ingests = Ingests(SCRIPT)
    yield ingests
    ingests.close()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "manuals", version="old")


@pytest.fixture
def expected(corpus: Path) -> Contents:
    """What there is after a first ingest of the old version."""
    with server_addresses() as addresses, closing(ServerStore(addresses)) as store:
        return ingest(store, corpus)


def write_version(corpus: Path, version: str) -> None:
    shutil.rmtree(corpus)
    write_folder(corpus, version=version)


def kills(ingests: Ingests, steps: int) -> list[Kill]:
    chooser = random.Random(SEED)
    at_steps = [partial(ingests.killed_at, chooser.randint(1, steps)) for _ in range(STEP_KILLS)]
    return at_steps + [partial(ingests.killed_after, chooser.uniform(0, SECONDS)) for _ in range(TIMED_KILLS)]


def ingest(
    store: ServerStore, corpus: Path, *, model: str = "fake-encoder", rebuild: bool = False
) -> Contents:
    """What there is after an ingest that nobody killed; it leaves no orphans."""
    run_ingest(store, corpus, encoder=FakeEncoder(name=model), rebuild=rebuild)
    found = store.find_orphans()
    assert found.is_clean, found
    seen = contents(store)
    assert_consistent(seen, store, FakeEncoder(name=model))
    return seen


class TestKills:
    def test_a_first_ingest(self, ingests: Ingests, corpus: Path, expected: Contents) -> None:
        with server_addresses() as addresses:
            steps = ingests.steps(addresses.model_dump(), corpus)
        for kill in kills(ingests, steps):
            with server_addresses() as addresses, closing(ServerStore(addresses)) as store:
                kill(addresses.model_dump(), corpus)
                seen = contents(store)
                assert all(expected[source] == content for source, content in seen.items())
                assert_consistent(seen, store, FakeEncoder())
                assert ingest(store, corpus) == expected

    def test_an_ingest_of_changes(
        self, ingests: Ingests, addresses: ServerAddresses, store: ServerStore, corpus: Path
    ) -> None:
        now = ingest(store, corpus)
        write_version(corpus, "new")
        steps = ingests.steps(addresses.model_dump(), corpus)
        before, now = now, contents(store)
        for kill, version in zip(kills(ingests, steps), itertools.cycle(["old", "new"]), strict=False):
            before, now = now, before
            write_version(corpus, version)
            kill(addresses.model_dump(), corpus)
            seen = contents(store)
            assert before.keys() & now.keys() <= seen.keys() <= before.keys() | now.keys()
            assert all(content in (before.get(name), now.get(name)) for name, content in seen.items())
            assert_consistent(seen, store, FakeEncoder())
            assert ingest(store, corpus) == now

    def test_a_rebuild_with_another_model(
        self, ingests: Ingests, addresses: ServerAddresses, store: ServerStore, corpus: Path
    ) -> None:
        models = itertools.cycle(["fake-encoder", "other"])
        expected = {next(models): ingest(store, corpus)}
        steps = ingests.steps(addresses.model_dump(), corpus, "other", True)
        expected[next(models)] = contents(store)
        for kill, model in zip(kills(ingests, steps), models, strict=False):
            kill(addresses.model_dump(), corpus, model, True)
            seen, manifest = contents(store), store.sections.manifest()
            assert manifest is not None
            assert seen == expected[manifest.embedding_model]
            assert_consistent(seen, store, FakeEncoder(name=manifest.embedding_model))
            assert ingest(store, corpus, model=model, rebuild=True) == expected[model]
