"""Ingests that are killed at random moments: every document stays whole or absent, the next completes it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingesting import contents, findings, run_ingest

SEED = 20261121
FILES = 40
QUESTIONS = ["pump pressure", "valve of the tank", "section 7", "old words", "new words", "alarm 3"]
WORDS = ["pump", "valve", "tank", "pressure", "alarm", "loop", "fan", "sensor", "bus", "cold", "hot", "open"]

# Imports once, then forks a process for every ingest that it is asked for, so that kills fall into the work.
FORKING = """
import gc, os, sys
import llama_index.core.schema, tantivy, readers.markdown, readers.sentences
import pipeline.batches, pipeline.stores.embedded.writing as writing
from tests.pipeline import ingesting
pipeline.batches.BATCH_TEXTS = 100      # many batches and many commits, to be killed between
writing.NODES_PER_COMMIT = 300
gc.freeze()
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        sys.stdin.close()
        sys.argv = ["ingest", *line.split("\\t")[:-1]]
        os.dup2(2, 1)
        ingesting.main()
        sys.stdout.flush(); sys.stderr.flush()
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
            [sys.executable, "-c", FORKING],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def run(self, *arguments: object, kill_after: float | None = None) -> int:
        """The exit status; negative for the signal that ended it."""
        assert self._process.stdin and self._process.stdout
        print(*arguments, "", sep="\t", file=self._process.stdin, flush=True)
        pid = int(self._process.stdout.readline())
        if kill_after is not None:
            time.sleep(kill_after)
            with suppress(ProcessLookupError):  # it may have ended before
                os.kill(pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(int(self._process.stdout.readline()))

    def seconds(self, *arguments: object) -> float:
        """How long an ingest takes that nobody kills."""
        started = time.perf_counter()
        assert self.run(*arguments) == 0
        return time.perf_counter() - started

    def close(self) -> None:
        self._process.communicate()


class Reference(NamedTuple):
    """What a store holds and what it finds."""

    contents: dict[str, object]
    findings: list[object]


def moments(count: int, seconds: float) -> Iterator[float]:
    """Random moments until a little after the usual end."""
    chooser = random.Random(SEED)
    return (chooser.uniform(0, seconds * 1.05) for _ in range(count))


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


@pytest.mark.kill
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
class TestKills:
    def test_a_first_ingest(self, ingests: Ingests, corpus: Path, tmp_path: Path) -> None:
        encoder = FakeEncoder()
        expected = reference(tmp_path / "expected", corpus, encoder)
        whole = expected.contents
        seconds = ingests.seconds(tmp_path / "timed", corpus)
        killed = 0
        for number, moment in enumerate(moments(14, seconds)):
            folder = tmp_path / f"killed{number}"
            killed += ingests.run(folder, corpus, kill_after=moment) == -signal.SIGKILL
            store = EmbeddedStore(folder)
            seen = contents(store)
            assert all(whole[source] == content for source, content in seen.items())
            assert_consistent(seen, store, encoder)
            assert_completed(store, corpus, expected, encoder)
            store.close()
        assert killed >= 10

    def test_an_ingest_of_changes(self, ingests: Ingests, corpus: Path, tmp_path: Path) -> None:
        encoder = FakeEncoder()
        old = reference(tmp_path / "former", corpus, encoder).contents
        shutil.rmtree(corpus)
        write_folder(corpus, version="new")
        expected = reference(tmp_path / "expected", corpus, encoder)
        new = expected.contents
        shutil.copytree(tmp_path / "former", tmp_path / "timed")
        seconds = ingests.seconds(tmp_path / "timed", corpus)
        killed = 0
        for number, moment in enumerate(moments(14, seconds)):
            folder = tmp_path / f"killed{number}"
            shutil.copytree(tmp_path / "former", folder)
            killed += ingests.run(folder, corpus, kill_after=moment) == -signal.SIGKILL
            store = EmbeddedStore(folder)
            seen = contents(store)
            assert old.keys() & new.keys() <= seen.keys() <= old.keys() | new.keys()
            assert all(content in (old.get(source), new.get(source)) for source, content in seen.items())
            assert_consistent(seen, store, encoder)
            assert_completed(store, corpus, expected, encoder)
            store.close()
        assert killed >= 10

    def test_a_rebuild_with_another_model(self, ingests: Ingests, corpus: Path, tmp_path: Path) -> None:
        encoder, other = FakeEncoder(), FakeEncoder(name="other")
        old = reference(tmp_path / "former", corpus, encoder).contents
        expected = reference(tmp_path / "expected", corpus, other)
        new = expected.contents
        shutil.copytree(tmp_path / "former", tmp_path / "timed")
        flags = ("--rebuild", "--model", "other")
        seconds = ingests.seconds(tmp_path / "timed", corpus, *flags)
        killed = 0
        for number, moment in enumerate(moments(10, seconds)):
            folder = tmp_path / f"killed{number}"
            shutil.copytree(tmp_path / "former", folder)
            killed += ingests.run(folder, corpus, *flags, kill_after=moment) == -signal.SIGKILL
            store = EmbeddedStore(folder)
            seen, manifest = contents(store), store.sections.manifest()
            assert manifest is not None
            assert seen == {"fake-encoder": old, "other": new}[manifest.embedding_model]
            assert_consistent(seen, store, other)
            run_ingest(store, corpus, encoder=other, rebuild=True)
            assert_completed(store, corpus, expected, other)
            store.close()
        assert killed >= 7
