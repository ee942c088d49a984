"""Every construct is read with work in proportion to its length, by the number of calls that it takes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.attack import documents
from bench.attack.documents import LongFile
from bench.attack.generators import GENERATORS, halves, joined, repeated
from pipeline import analysis
from pipeline.analysis import embedding_text, lexical_text
from readers.cutting import SentenceCutter
from readers.sections import read_sections
from tests.readers.oracle import count_words

pytestmark = pytest.mark.slow

SHORT, LONG = 3_000, 12_000
MOST_GROWTH = 7.0
"""Linear work grows by 4, quadratic by 16."""
FEW = 3_000
"""Calls that any text takes, some of them in steps (a window, a limit of tokens)."""


@pytest.fixture(scope="module")
def cutter() -> SentenceCutter:
    return SentenceCutter(count_words)


def read(text: str, cutter: SentenceCutter) -> None:
    analysis._analysed.cache_clear()
    analysis._terms.cache_clear()
    sections = read_sections(text, source="a.md")
    for node in (*sections, *cutter.cut_all(sections)):
        embedding_text(node)
        lexical_text(node)


def calls(work: Callable[[], object]) -> int:
    """How many calls of functions, Python's and C's, some work makes."""
    count = 0

    def profile(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", GENERATORS)
def test_reading_is_linear(name: str, cutter: SentenceCutter) -> None:
    generate = GENERATORS[name]
    read(generate(SHORT), cutter)  # what is made once
    short, long = (calls(lambda size=size: read(generate(size), cutter)) for size in (SHORT, LONG))  # type: ignore[misc]
    assert long <= MOST_GROWTH * short + FEW, (
        f"{short:,} calls for {SHORT:,} characters, {long:,} for {LONG:,}"
    )


def test_the_measure_sees_what_is_quadratic() -> None:
    def quadratic(size: int) -> int:
        return calls(lambda: [len("a") for _ in range(size) for _ in range(size // 100)])

    assert quadratic(LONG) > MOST_GROWTH * quadratic(SHORT) + FEW


def test_there_are_as_many_constructs_as_promised() -> None:
    assert len(GENERATORS) >= 70


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_makes_about_as_much_as_it_was_asked_for(name: str) -> None:
    assert 0.3 * 10_000 <= len(GENERATORS[name](10_000)) <= 2 * 10_000


def test_generators_of_pieces() -> None:
    assert repeated("ab", before="<", after=">")(6) == "<ababab>"
    assert halves("(", ")", inside="x")(4) == "((x))"
    assert joined(lambda: iter("abc"))(2) == "ab"


def test_a_store_and_memory_beyond_the_limits_are_named(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("a" * 1_000)

    def excess(nodes: int = 10, store: int = 1_000_000, memory: float = 1e8) -> list[str]:
        return list(documents._excess(file, nodes=nodes, store=store, memory=memory))

    assert excess() == []
    assert excess(store=2_000_000) == ["1,000 bytes and 10 nodes became a store of 2,000,000"]
    assert excess(memory=9e8) == ["1,000 bytes took 900 MB of memory"]
    assert excess(nodes=40_000) == ["1,000 bytes became 40,000 sections and sentences"]


def test_what_is_logged_is_not_measured_again_and_the_sum_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[str] = []

    def measure(name: str, size: int, *, embed: bool) -> LongFile:
        measured.append(name)
        failures = ("tags: 61 s",) if name == "tags" else ()
        return LongFile(name, size / 1e6, 61 if name == "tags" else 7, 300, 40, failures)

    page, log = tmp_path / "security.md", tmp_path / "log"
    page.write_text("\n".join(documents.MARKS))
    monkeypatch.setattr(documents, "_long_file", measure)
    monkeypatch.setattr(documents, "PAGE", page)
    assert documents.main(["words", "--log", str(log)]) == 0
    assert documents.main(["words", "tags", "--log", str(log), "--write"]) == 1
    assert measured == ["words", "tags"]
    assert "| words | 10 | 7 | 300 | 40 |" in capsys.readouterr().out
    written = page.read_text()
    assert "2 of 2 constructs, up to 10 MB each: 1 beyond a limit.\n\n- tags: 61 s\n" in written
    assert "| processor seconds | tags | 61 |" in written


def test_the_page_has_the_marks_of_the_long_files() -> None:
    assert all(mark in documents.PAGE.read_text(encoding="utf-8") for mark in documents.MARKS)
