"""On every text: each node is its span, nothing is lost, nothing is there twice, nothing crashes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from readers.files import FileLimits, find_files, read_source
from tests.readers.oracle import ROOT, TEST_DATA, check_properties, leaves_of, read, shown

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
    found = find_files([folder] if folder.is_dir() else [], limits=FileLimits(10**8, 10**8))
    return [file.path for file in found.files][::every]


def check_files(files: list[Path]) -> None:
    for path in files:
        text = read_source(path, max_bytes=10**8).text
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


HOSTILE = {
    "a long line": "word " * 2_000,
    "a long line of one word": "x" * 200_000,
    "a long line of stops": "a!b.c?" * 20_000,
    "exclamations": "!" * 50_000,
    "a long heading": "# " + "[a](" * 2_500,
    "a heading of brackets": "# " + "[" * 1_990,
    "a heading of stars": "# " + "*a " * 660,
    "100 nested lists": "\n".join("  " * depth + f"- item {depth}" for depth in range(100)),
    "100 nested ordered lists": "\n".join("   " * depth + f"1. item {depth}" for depth in range(100)),
    "300 nested lists": "\n".join("  " * depth + f"- item {depth}" for depth in range(300)),
    "1,000 bullets on a line": "- " * 1_000 + "deep",
    "5,000 quotes": ">" * 5_000 + " deep",
    "quotes deeper and deeper": "\n".join(">" * depth + " deep" for depth in range(300)),
    "an unclosed fence": "# A\n\n```rust\n" + "let x = 1; # no\n" * 2_000,
    "fences": "```\n" * 5_000,
    "backticks of every length": " ".join("`" * length for length in range(1, 400)),
    "brackets": "[" * 20_000,
    "link targets": "](" * 20_000,
    "tags": "<a " * 20_000,
    "comments": "<!--\n" * 5_000,
    "definitions": "".join(f"[a{number}]: b 'x'\n" for number in range(3_000)),
    "a wide table": "|a" * 500 + "|\n" + "|-" * 500 + "|\n" + "|b\n" * 100,
    "a long table": "| a |\n|---|\n" + "| x |\n" * 3_000,
    "headings": "# a\n\nb\n\n" * 3_000,
    "items": "- a\n" * 5_000,
    "quotes": "> a\n\n" * 3_000,
    "a long paragraph": "aaaa\n" * 10_000,
    "carriage returns": "a\r" * 10_000,
    "tabs": "\t" * 20_000 + "x",
    "emoji": "💧" * 5_000,
    "NUL": "\0" * 1_000 + "\n# \0\n\0",
    "whitespace": " \n\t\r\n\x0b\x0c\u2028\xa0",
    "nothing": "",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_take_no_time_and_lose_nothing(name: str) -> None:
    """That reading is linear, `tests/bench/test_attack_documents.py` says of many more constructs."""
    started = time.process_time()
    read(HOSTILE[name])
    leaves = leaves_of(HOSTILE[name])
    assert time.process_time() - started < 10  # a guard against quadratic time: each takes under a second
    assert sum(map(str.isalpha, "".join(map(shown, leaves)))) == LETTERS.get(
        name, sum(map(str.isalpha, HOSTILE[name]))
    )


LETTERS = {
    "a long line of one word": 0,
    "a heading of brackets": 0,
    "an unclosed fence": 2_000 * 6,  # not the heading, not the info string
    "definitions": 0,
    "headings": 3_000,
}
