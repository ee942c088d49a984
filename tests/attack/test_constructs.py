"""Every construct is read with work in proportion to its length, in little memory and little space."""

from __future__ import annotations

import math
import time
from contextlib import closing
from pathlib import Path

import pytest

from athena import load_settings, open_athena
from athena.reading import make_cutter
from pipeline import analysis
from pipeline.analysis import embedding_text, lexical_terms
from readers.commonmark import MAX_BLOCKS
from readers.cutting import MAX_SENTENCES, SentenceCutter
from readers.sections import read_sections
from tests.attack.constructs import GENERATORS, halves, joined, repeated
from tests.made_files import size_of

pytestmark = pytest.mark.slow

SIZES = (20_000, 160_000)
LARGER_SIZES = (160_000, 1_280_000)
"""For what grows too much: texts of more than 254 characters take a step, as their tokens are counted."""
MOST_GROWTH = 13.0
"""Of the time, from the first size to the last: linear reading has 8, quadratic 64."""
READINGS = 3
"""Of each size, of which the fastest counts: another process may slow one of them down."""
LEAST_SECONDS = 0.05
"""What takes less at the last size is not measured well enough to be called slow."""

CHARACTERS = 20_000
TIMES = 10
"""How many times its file a store, and the memory of an ingest, may have beside the constants."""
STORE_BYTES = 1_000_000
NODE_BYTES = 2_000
"""Of a free section or sentence beside its text: a vector has 768, an id twice 36."""
FREE_NODES = MAX_BLOCKS + MAX_SENTENCES
NODE_CHARACTERS = 125
"""The average characters of a section or sentence, beyond the free ones."""
MEMORY_BYTES = 400_000_000
"""Of an ingest beside what the process has: the model, and a batch of passages."""


def read(text: str, cutter: SentenceCutter) -> None:
    analysis._analysed.cache_clear()
    analysis._terms.cache_clear()
    sections = read_sections(text, source="a.md")
    for node in (*sections, *cutter.cut_all(sections)):
        embedding_text(node)
        lexical_terms(node.text, node.metadata)


def seconds(text: str, cutter: SentenceCutter) -> float:
    """Processor time of reading a text."""
    started = time.process_time()
    read(text, cutter)
    return time.process_time() - started


def peak() -> float:
    """The most resident memory of this process since it was reset, in bytes; Linux alone has it."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return float(line.split()[1]) * 1024


@pytest.fixture(scope="module")
def cutter() -> SentenceCutter:
    """The one that counts the bundled model's tokens, warm."""
    cutter = make_cutter(open_athena(load_settings()).encoder)
    seconds(GENERATORS["sentences"](SIZES[0]), cutter)
    return cutter


def test_a_generator_makes_about_as_much_as_it_was_asked_for() -> None:
    assert all(0.3 * 10_000 <= len(generate(10_000)) <= 2 * 10_000 for generate in GENERATORS.values())
    assert repeated("ab", before="<", after=">")(6) == "<ababab>"
    assert halves("(", ")", inside="x")(4) == "((x))"
    assert joined(lambda: iter("abc"))(2) == "ab"


def grows_too_much(name: str, sizes: tuple[int, int], cutter: SentenceCutter) -> bool:
    """Whether reading the longer text takes more than `MOST_GROWTH` times as long as the shorter one."""
    short = long = math.inf
    for _ in range(READINGS):
        short = min(short, seconds(GENERATORS[name](sizes[0]), cutter))
        long = min(long, seconds(GENERATORS[name](sizes[1]), cutter))
        if long < LEAST_SECONDS or long <= MOST_GROWTH * short:
            return False
    return True


@pytest.mark.parametrize("name", GENERATORS)
def test_reading_takes_linear_time(name: str, cutter: SentenceCutter) -> None:
    assert not (grows_too_much(name, SIZES, cutter) and grows_too_much(name, LARGER_SIZES, cutter))


@pytest.mark.parametrize("name", GENERATORS)
def test_store_and_memory_are_in_proportion(name: str, tmp_path: Path) -> None:
    file = tmp_path / "docs" / "a.md"
    file.parent.mkdir()
    file.write_text(GENERATORS[name](CHARACTERS), encoding="utf-8")
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    with closing(open_athena(load_settings(data_dir=tmp_path / "data", llm="none"))) as athena:
        report = athena.ingest([file.parent])
    size, nodes = file.stat().st_size, report.sections + report.sentences
    assert nodes <= FREE_NODES + size / NODE_CHARACTERS
    assert size_of(tmp_path / "data") <= TIMES * size + NODE_BYTES * min(nodes, FREE_NODES) + STORE_BYTES
    assert peak() - before <= TIMES * size + MEMORY_BYTES
