"""On every text: each node is its span, nothing is lost, nothing is there twice, nothing crashes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from readers.source import read_page
from tests.readers.oracle import ROOT, check_properties

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


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "docs_corpus").rglob("*.md")), ids=lambda path: path.stem)
def test_the_manuals(path: Path) -> None:
    check_properties(read_page(path, max_bytes=10**8).text)


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@example("- ```\n{: .n}\n", 254)
@given(MARKDOWN, st.sampled_from([1, 5, 254]))
def test_markdown_of_any_shape(text: str, max_tokens: int) -> None:
    check_properties(text, max_tokens=max_tokens)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=300))
def test_any_text_at_all(text: str) -> None:
    """Lone surrogates and NUL included."""
    check_properties(text)
