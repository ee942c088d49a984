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
from tests.pipeline.ingest_runs import findings, run_ingest
from tests.pipeline.stores.server.killing import Ingests
from tests.pipeline.test_ingest_kill import write_folder
from tests.server_stores import server_addresses

SEED = 20261121
STEP_KILLS = 4  # a scenario: at a step of the store chosen at random
TIMED_KILLS = 2  # a scenario: at a random time
SECONDS = 1.2  # about as long as an ingest takes

Contents = dict[str, object]
Kill = Callable[..., None]

pytestmark = [
    pytest.mark.server,
    pytest.mark.kill,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]


@pytest.fixture(scope="module")
def ingests() -> Iterator[Ingests]:
    ingests = Ingests()
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


def contents(store: ServerStore) -> Contents:
    """All that a reader can see, but for times; asked for at once."""
    documents = [store.sections.document(info.source) for info in store.sections.documents()]
    leaves = store.sentences.of_sections([node.node_id for item in documents for node in item.sections])
    ids = [node.node_id for item in documents for node in item.sections]
    vectors = store.sentences.vectors([*ids, *(node.node_id for group in leaves.values() for node in group)])
    found: Contents = {}
    for item in documents:
        sentences = [node for section in item.sections for node in leaves.get(section.node_id, [])]
        assert (len(item.sections), len(sentences)) == (item.info.sections, item.info.sentences)
        found[item.info.source] = (
            item.info.id, item.info.root, item.info.title, item.info.hash, item.text,
            [
                (node.node_id, node.text, node.metadata, vectors[node.node_id].tobytes())
                for node in (*item.sections, *sentences)
            ],
        )  # fmt: skip
    return found


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


def assert_consistent(seen: Contents, store: ServerStore, encoder: FakeEncoder) -> None:
    """What is found is what is stored, all of it."""
    nodes = [node for content in seen.values() for node in content[5]]  # type: ignore[index]
    sections = {node[0] for node in nodes if "level" in node[2]}
    sentences = {node[0] for node in nodes if "position" in node[2]}
    (lists,) = findings(store, encoder, ["document"])  # the word is in every heading path
    assert [{hit[0] for hit in hits} for hits in lists] == [sections, sentences, sections, sentences]


class TestKills:
    def test_a_first_ingest(self, ingests: Ingests, corpus: Path, expected: Contents) -> None:
        with server_addresses() as addresses:
            steps = ingests.steps(addresses, corpus, model="fake-encoder")
        for kill in kills(ingests, steps):
            with server_addresses() as addresses, closing(ServerStore(addresses)) as store:
                kill(addresses, corpus, model="fake-encoder")
                seen = contents(store)
                assert all(expected[source] == content for source, content in seen.items())
                assert_consistent(seen, store, FakeEncoder())
                assert ingest(store, corpus) == expected

    def test_an_ingest_of_changes(
        self, ingests: Ingests, addresses: ServerAddresses, store: ServerStore, corpus: Path
    ) -> None:
        now = ingest(store, corpus)
        write_version(corpus, "new")
        steps = ingests.steps(addresses, corpus, model="fake-encoder")
        before, now = now, contents(store)
        for kill, version in zip(kills(ingests, steps), itertools.cycle(["old", "new"]), strict=False):
            before, now = now, before
            write_version(corpus, version)
            kill(addresses, corpus, model="fake-encoder")
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
        steps = ingests.steps(addresses, corpus, model="other", rebuild=True)
        expected[next(models)] = contents(store)
        for kill, model in zip(kills(ingests, steps), models, strict=False):
            kill(addresses, corpus, model=model, rebuild=True)
            seen, manifest = contents(store), store.sections.manifest()
            assert manifest is not None
            assert seen == expected[manifest.embedding_model]
            assert_consistent(seen, store, FakeEncoder(name=manifest.embedding_model))
            assert ingest(store, corpus, model=model, rebuild=True) == expected[model]
