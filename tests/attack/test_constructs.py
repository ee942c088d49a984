"""Every construct is read with work in proportion to its length, in little memory and little space."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from athena import load_settings, open_athena
from bench.athena import ROOT, AthenaSide
from bench.processes import run_measured
from pipeline import analysis
from pipeline.analysis import embedding_text, lexical_terms
from readers.commonmark import MAX_BLOCKS
from readers.cutting import MAX_SENTENCES, SentenceCutter
from readers.sections import read_sections
from tests.attack.constructs import GENERATORS, halves, joined, repeated
from tests.made_files import size_of

pytestmark = pytest.mark.slow

attacked = pytest.mark.skipif(
    "ATHENA_TEST_ATTACKS" not in os.environ, reason="minutes: `make attack` runs them"
)
SIZES = (20_000, 160_000)
LARGER_SIZES = (160_000, 1_280_000)
"""For what grows too much: texts of more than 254 characters take a step, as their tokens are counted."""
MOST_GROWTH = 13.0
"""Of the time, from the first size to the last: linear reading has 8, quadratic 64."""
LEAST_SECONDS = 0.05
"""What takes less at the last size is not measured well enough to be called slow."""

SHORT = 20_000
LONG = 10_000_000
TIMES = 10
"""How many times its file a store, and the memory of an ingest, may have beside the constants."""
STORE_BYTES = 1_000_000
NODE_BYTES = 2_000
"""Of a free section or sentence beside its text: a vector has 768, an id twice 36."""
FREE_NODES = MAX_BLOCKS + MAX_SENTENCES
NODE_CHARACTERS = 125
"""What a section or sentence has on average, beyond the free ones."""
MEMORY_BYTES = 400_000_000
"""What an ingest takes beside what the process has: the model, and a batch of passages."""
PROCESS_BYTES = 400_000_000
"""What a whole process has besides, where it is measured from outside: the 800 MB of docs/security.md."""
MOST_SECONDS = 60.0


def read(text: str, cutter: SentenceCutter) -> None:
    analysis._analysed.cache_clear()
    analysis._terms.cache_clear()
    sections = read_sections(text, source="a.md")
    for node in (*sections, *cutter.cut_all(sections)):
        embedding_text(node)
        lexical_terms(node.text, node.metadata)


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_makes_about_as_much_as_it_was_asked_for(name: str) -> None:
    assert 0.3 * 10_000 <= len(GENERATORS[name](10_000)) <= 2 * 10_000


def test_generators_of_pieces() -> None:
    assert repeated("ab", before="<", after=">")(6) == "<ababab>"
    assert halves("(", ")", inside="x")(4) == "((x))"
    assert joined(lambda: iter("abc"))(2) == "ab"


@pytest.fixture(scope="module")
def cutter() -> SentenceCutter:
    """The one that counts the bundled model's tokens, which has read once."""
    cutter = open_athena(load_settings()).sentence_cutter()
    seconds(GENERATORS["sentences"](SIZES[0]), cutter)
    return cutter


def seconds(text: str, cutter: SentenceCutter) -> float:
    """Processor time of reading a text."""
    started = time.process_time()
    read(text, cutter)
    return time.process_time() - started


@attacked
@pytest.mark.parametrize("name", GENERATORS)
def test_reading_takes_linear_time(name: str, cutter: SentenceCutter) -> None:
    grown = [tuple(seconds(GENERATORS[name](size), cutter) for size in SIZES)]
    if grown[0][1] >= LEAST_SECONDS and grown[0][1] > MOST_GROWTH * grown[0][0]:
        grown.append(tuple(seconds(GENERATORS[name](size), cutter) for size in LARGER_SIZES))
    assert any(long < LEAST_SECONDS or long <= MOST_GROWTH * short for short, long in grown)


def excess(file: Path, *, nodes: int, store: int, memory: float) -> Iterator[str]:
    """Which of the limits a file went beyond."""
    size = file.stat().st_size
    if nodes > FREE_NODES + size / NODE_CHARACTERS:
        yield f"{size:,} bytes became {nodes:,} sections and sentences"
    if store > TIMES * size + NODE_BYTES * min(nodes, FREE_NODES) + STORE_BYTES:
        yield f"{size:,} bytes and {nodes:,} nodes became a store of {store:,}"
    if memory > TIMES * size + MEMORY_BYTES:
        yield f"{size:,} bytes took {memory / 1e6:,.0f} MB of memory"


def write(folder: Path, name: str, size: int) -> Path:
    file = folder / "docs" / "a.md"
    file.parent.mkdir()
    file.write_text(GENERATORS[name](size), encoding="utf-8")
    return file


def peak() -> float:
    """The most resident memory of this process since it was told to forget it, in bytes; Linux alone can."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return float(line.split()[1]) * 1024


@attacked
@pytest.mark.parametrize("name", GENERATORS)
def test_store_and_memory_are_in_proportion(name: str, tmp_path: Path) -> None:
    file = write(tmp_path, name, SHORT)
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    with closing(open_athena(load_settings(data_dir=tmp_path / "data", llm="none"))) as athena:
        report = athena.ingest([file.parent])
    nodes, store = report.sections + report.sentences, size_of(tmp_path / "data")
    assert not [*excess(file, nodes=nodes, store=store, memory=peak() - before)]


@pytest.mark.skipif(
    "ATHENA_TEST_LONG_FILES" not in os.environ,
    reason="an hour and a half: `make attack options='--only long-files'`",
)
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", GENERATORS)
def test_a_long_file_is_ingested(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    file = write(tmp_path, name, LONG)
    size_mb = file.stat().st_size / 1e6
    side = AthenaSide(tmp_path, {"ATHENA_MAX_FILE_MB": str(max(10, size_mb + 1))})
    command = [sys.executable, "-m", "tests.attack.unembedded", file.parent, tmp_path / "data"]
    done = run_measured(command, cwd=tmp_path, env=side.environment() | {"PYTHONPATH": str(ROOT)})
    report, store = json.loads(done.output), size_of(tmp_path / "data")
    measured = {"processor seconds": done.cpu_seconds, "peak MB": done.peak_mb, "store MB": store / 1e6}
    for what, number in measured.items():
        record_property(what, number)
    nodes = report["sections"] + report["sentences"]
    assert not [*excess(file, nodes=nodes, store=store, memory=done.peak_mb * 1e6 - PROCESS_BYTES)]
    assert done.cpu_seconds <= MOST_SECONDS


def test_a_store_and_memory_beyond_the_limits_are_named(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("a" * 1_000)

    def beyond(nodes: int = 10, store: int = 1_000_000, memory: float = 1e8) -> list[str]:
        return list(excess(file, nodes=nodes, store=store, memory=memory))

    assert beyond() == []
    assert beyond(store=2_000_000) == ["1,000 bytes and 10 nodes became a store of 2,000,000"]
    assert beyond(memory=9e8) == ["1,000 bytes took 900 MB of memory"]
    assert beyond(nodes=40_000) == ["1,000 bytes became 40,000 sections and sentences"]
