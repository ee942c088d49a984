"""On every text: each node is its span, nothing is lost, nothing is there twice, nothing crashes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from readers.files import find_files
from readers.includes import read_page
from tests.attack.constructs import GENERATORS
from tests.readers.oracle import ROOT, TEST_DATA, check_properties

EVERY = 1 if os.environ.get("ATHENA_TEST_FULL") else 15
"""Of the large corpus, each so-manieth file; ATHENA_TEST_FULL=1 takes them all."""

LINES = st.sampled_from(
    [
        *("", "", "# A", "## B c", "### ", "Setext\n===", "---", "***", "===", "text. More text"),
        *("Two.  Three!", "- item", "  - nested", "    - deep", "1. one", "2) two", "   more"),
        *("> quote. End", "> > twice", ">", "```", "```rust", "~~~", "    code", "\tcode", "| a | b |"),
        *("|---|---|", "| 1 | 2 | 3 |", "<div>", "</div>", "<!-- c", "-->", "[r]: /l 'T'", "[r]: <"),
        *("[x][r]", "*a* _b_ `c", "{: .n}", "+++", "...", "\0", "> - 1. > x", "- ```", "> ```", "- | a |"),
        *("  |---|", "\xa0", "\u2028", "\x0c", "a\\", "ﬀ 💧", "- # h"),
    ]
)
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\n\n", ""])
MARKDOWN = st.lists(st.tuples(LINES, ENDS).map("".join), max_size=25).map("".join)


def corpus(folder: Path, every: int = 1) -> list[Path]:
    found = find_files([folder] if folder.is_dir() else [], max_bytes=10**8)
    return [file.path for file in found.files][::every]


def check_files(files: list[Path]) -> None:
    for path in files:
        text = read_page(path, max_bytes=10**8).text
        try:
            check_properties(text)
        except AssertionError as error:
            raise AssertionError(f"{path}: {error}") from error


@pytest.mark.slow
def test_the_manuals() -> None:
    files = corpus(ROOT / "docs_corpus")
    if not files:
        pytest.skip("docs_corpus holds no Markdown")
    check_files(files)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "every"), [("rust-book", min(EVERY, 3)), ("opensearch-docs", EVERY)])
def test_documentation_written_by_others(name: str, every: int) -> None:
    files = corpus(TEST_DATA / "docs" / name, every)
    if not files:
        pytest.skip(f"no {name} in ATHENA_TEST_DATA ({TEST_DATA})")
    check_files(files)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example("- ```\n{: .n}\n", 254)
@given(MARKDOWN, st.sampled_from([1, 5, 254]))
def test_markdown_of_any_shape(text: str, max_tokens: int) -> None:
    check_properties(text, max_tokens=max_tokens)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=300))
def test_any_text_at_all(text: str) -> None:
    """Lone surrogates and NUL included."""
    check_properties(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_hostile_texts_take_no_time_and_lose_nothing(name: str) -> None:
    """That reading is linear, `tests/attack` says of longer ones."""
    text = GENERATORS[name](4_000)
    started = time.process_time()
    check_properties(text)
    assert time.process_time() - started < 10  # a guard against quadratic time: each takes under a second
