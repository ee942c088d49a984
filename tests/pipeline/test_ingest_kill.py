"""Ingests that are killed at random moments: every document stays whole or absent, the next completes it."""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import contents, findings, run_ingest
from tests.pipeline.killing import SEED, Ingests, assert_consistent, write_folder

QUESTIONS = ["pump pressure", "valve of the tank", "section 7", "old words", "new words", "alarm 3"]

STEP_KILLS = 11  # a scenario: at a step of the store chosen at random, the same ones on every machine
TIMED_KILLS = 4  # a scenario: at a random time

# A step is a call that the store's writing modules make, to SQLite, tantivy or the file system.
SCRIPT = """
import sys, tantivy
import pipeline.stores.embedded.store as store
store.NODES_PER_COMMIT = 300
WATCHED = ("database.py", "documents.py", "lexical.py", "store.py", "tantivy_index.py")

def is_step(file_name, event):
    return event == "c_call" and file_name.endswith(WATCHED)

def ingest(*arguments):
    sys.argv = ["ingest", *arguments]
    ingest_runs.main()
"""


class Reference(NamedTuple):
    """What a store holds and what it finds."""

    contents: dict[str, object]
    findings: list[object]


def assert_completed(store: EmbeddedStore, corpus: Path, expected: Reference, encoder: FakeEncoder) -> None:
    """The next ingest ends where one does that nobody killed."""
    run_ingest(store, corpus, encoder=encoder)
    assert contents(store) == expected.contents
    assert findings(store, encoder, QUESTIONS) == expected.findings
    assert run_ingest(store, corpus, encoder=encoder).embedded == 0


@pytest.fixture(scope="module")
def ingests() -> Iterator[Ingests]:
    ingests = Ingests(SCRIPT)
    yield ingests
    ingests.close()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "manuals", version="old")


def reference(folder: Path, corpus: Path, encoder: FakeEncoder) -> Reference:
    """What there is after an ingest that nobody killed, into `folder`."""
    store = EmbeddedStore(folder)
    run_ingest(store, corpus, encoder=encoder)
    seen = Reference(contents(store), findings(store, encoder, QUESTIONS))
    store.close()
    return seen


Scenario = Callable[..., Iterator[EmbeddedStore]]


@pytest.fixture
def killed(ingests: Ingests, corpus: Path, tmp_path: Path) -> Scenario:
    """Stores (copies of `former`, if there is one) whose ingests were killed at random moments."""

    def make(former: Path | None, *flags: str) -> Iterator[EmbeddedStore]:
        folders = (_copy(former, tmp_path / f"killed{number}") for number in itertools.count())
        steps = ingests.steps(next(folders), corpus, *flags)
        seconds = ingests.seconds(next(folders), corpus, *flags)
        chooser = random.Random(SEED)
        kills = [partial(ingests.killed_at, chooser.randint(1, steps)) for _ in range(STEP_KILLS)]
        kills += [partial(ingests.killed_after, chooser.uniform(0, seconds)) for _ in range(TIMED_KILLS)]
        for kill, folder in zip(kills, folders, strict=False):
            kill(folder, corpus, *flags)
            store = EmbeddedStore(folder)
            yield store
            store.close()

    return make


def _copy(former: Path | None, folder: Path) -> Path:
    return shutil.copytree(former, folder) if former else folder


@pytest.mark.kill
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
class TestKills:
    def test_a_first_ingest(self, killed: Scenario, corpus: Path, tmp_path: Path) -> None:
        encoder = FakeEncoder()
        expected = reference(tmp_path / "expected", corpus, encoder)
        for store in killed(None):
            seen = contents(store)
            assert all(expected.contents[source] == content for source, content in seen.items())
            assert_consistent(seen, store, encoder)
            assert_completed(store, corpus, expected, encoder)

    def test_an_ingest_of_changes(self, killed: Scenario, corpus: Path, tmp_path: Path) -> None:
        encoder = FakeEncoder()
        old = reference(tmp_path / "former", corpus, encoder).contents
        shutil.rmtree(corpus)
        write_folder(corpus, version="new")
        expected = reference(tmp_path / "expected", corpus, encoder)
        new = expected.contents
        for store in killed(tmp_path / "former"):
            seen = contents(store)
            assert old.keys() & new.keys() <= seen.keys() <= old.keys() | new.keys()
            assert all(content in (old.get(source), new.get(source)) for source, content in seen.items())
            assert_consistent(seen, store, encoder)
            assert_completed(store, corpus, expected, encoder)

    def test_a_rebuild_with_another_model(self, killed: Scenario, corpus: Path, tmp_path: Path) -> None:
        encoder, other = FakeEncoder(), FakeEncoder(name="other")
        old = reference(tmp_path / "former", corpus, encoder).contents
        expected = reference(tmp_path / "expected", corpus, other)
        for store in killed(tmp_path / "former", "--rebuild", "--model", "other"):
            seen, manifest = contents(store), store.sections.manifest()
            assert manifest is not None
            assert seen == {"fake-encoder": old, "other": expected.contents}[manifest.embedding_model]
            assert_consistent(seen, store, other)
            run_ingest(store, corpus, encoder=other, rebuild=True)
            assert_completed(store, corpus, expected, other)
