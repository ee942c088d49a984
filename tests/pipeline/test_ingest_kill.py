"""Ingests that are killed at random moments: every document stays whole or absent, the next completes it."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import contents, findings, run_ingest

SEED = 20261121
FILES = 40
QUESTIONS = ["pump pressure", "valve of the tank", "section 7", "old words", "new words", "alarm 3"]
WORDS = ["pump", "valve", "tank", "pressure", "alarm", "loop", "fan", "sensor", "bus", "cold", "hot", "open"]

STEP_KILLS = 11  # a scenario: at a step of the store chosen at random, the same ones on every machine
TIMED_KILLS = 4  # a scenario: at a random time

# Imports once, then forks a process for every ingest that it is asked for. A step is a call that the store's
# writing modules make, to SQLite, tantivy or the file system; the process kills itself before step `kill_at`.
FORKING = """
import gc, os, signal, sys
import llama_index.core.schema, tantivy, readers.llamaindex.reader, readers.llamaindex.parser
import pipeline.ingesting.batches, pipeline.stores.embedded.writing as writing
from tests.pipeline import ingest_runs
pipeline.ingesting.batches.BATCH_TEXTS = 100      # many batches and many commits, to be killed between
writing.NODES_PER_COMMIT = 300
WATCHED = ("database.py", "documents.py", "lexical.py", "tantivy_index.py", "writing.py")
steps = 0

def watch(frame, event, argument):
    global steps
    if event == "c_call" and frame.f_code.co_filename.endswith(WATCHED):
        steps += 1
        if steps == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

gc.freeze()
for line in sys.stdin:
    kill_at, *arguments = line.rstrip("\\n").split("\\t")
    kill_at = int(kill_at)
    pid = os.fork()
    if pid == 0:
        sys.argv = ["ingest", *arguments]
        results, sys.stdout = sys.stdout, open(os.devnull, "w")
        if kill_at:
            sys.setprofile(watch)
        ingest_runs.main()
        sys.setprofile(None)
        if kill_at == -1:
            print(steps, file=results, flush=True)
        os._exit(0)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


def write_folder(folder: Path, *, version: str) -> Path:
    """Files of a few sections; version "new" differs from "old" in some, lacks some, and has others."""
    folder.mkdir(parents=True)
    chooser = random.Random(SEED)
    for number in range(FILES):
        lines = [f"# Document {number}", ""]
        for section in range(chooser.randint(2, 5)):
            lines += [f"## Section {section} of {number}", ""]
            for _ in range(chooser.randint(2, 6)):
                lines.append(f"The {' '.join(chooser.choices(WORDS, k=8))} {chooser.randint(0, 10**9)}.")
            lines.append("")
        if number % 3 == 0:
            lines += ["## Version", "", f"These are {version} words of {number}.", ""]
        if number % 10 != (1 if version == "old" else 2):
            (folder / f"{number:02}.md").write_text("\n".join(lines))
    return folder


class Ingests:
    """Runs ingests as processes, to their end or to a kill."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def steps(self, *arguments: object) -> int:
        """The steps of an ingest that nobody kills."""
        self._start(*arguments, kill_at=-1)
        steps = self._read()
        assert self._read() == 0
        return steps

    def seconds(self, *arguments: object) -> float:
        """The seconds of an ingest that nobody kills."""
        started = time.perf_counter()
        self._start(*arguments)
        assert self._read() == 0
        return time.perf_counter() - started

    def killed_at(self, step: int, *arguments: object) -> None:
        """Run an ingest that is killed before a step."""
        self._start(*arguments, kill_at=step)
        assert os.waitstatus_to_exitcode(self._read()) == -signal.SIGKILL

    def killed_after(self, seconds: float, *arguments: object) -> None:
        """Run an ingest that is killed after a time, unless it has ended by then."""
        pid = self._start(*arguments)
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(self._read()) in (0, -signal.SIGKILL)

    def close(self) -> None:
        self._process.communicate()

    def _start(self, *arguments: object, kill_at: int = 0) -> int:
        assert self._process.stdin
        print(kill_at, *arguments, sep="\t", file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> int:
        assert self._process.stdout
        return int(self._process.stdout.readline())


class Reference(NamedTuple):
    """What a store holds and what it finds."""

    contents: dict[str, object]
    findings: list[object]


def assert_consistent(seen: dict[str, object], store: EmbeddedStore, encoder: FakeEncoder) -> None:
    """What is found is what is stored, all of it."""
    nodes = [node for content in seen.values() for node in content[5]]  # type: ignore[index]
    sections = {node[0] for node in nodes if "level" in node[2]}
    sentences = {node[0] for node in nodes if "position" in node[2]}
    (lists,) = findings(store, encoder, ["document"])  # the word is in every heading path
    assert [{hit[0] for hit in hits} for hits in lists] == [sections, sentences, sections, sentences]


def assert_completed(store: EmbeddedStore, corpus: Path, expected: Reference, encoder: FakeEncoder) -> None:
    """The next ingest ends where one does that nobody killed."""
    run_ingest(store, corpus, encoder=encoder)
    assert contents(store) == expected.contents
    assert findings(store, encoder, QUESTIONS) == expected.findings
    assert run_ingest(store, corpus, encoder=encoder).embedded == 0


@pytest.fixture(scope="module")
def ingests() -> Iterator[Ingests]:
    ingests = Ingests()
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
