"""What readers see of each dialect's constructs, and that masks keep every offset and take linear time."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readers import dialects
from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from readers.dialects import FILL, display, mask
from tests.readers.oracle import check_cover, count_words, leaves_of, shown_texts

SEEN = [
    tuple(cell.replace("\\n", "\n").replace("\\r", "\r") for cell in line.split("\t"))
    for line in Path(__file__).with_name("seen.tsv").read_text(encoding="utf-8").splitlines()
]


def test_no_group_is_repeated_possessively() -> None:
    """Python before 3.11.5 matches such groups wrongly."""
    table = Path(dialects.__file__).with_name("dialects.tsv").read_text(encoding="utf-8")
    rows = [line for line in table.splitlines() if not line.startswith("#")]
    assert [row for row in rows if re.search(r"\)(?:[*+?]|\{[\d,]+\})\+", row)] == []


@pytest.mark.parametrize(("text", "seen"), SEEN)
def test_what_is_seen(text: str, seen: str) -> None:
    assert display(mask(text)) == seen


def load_pages() -> dict[str, tuple[str, list[str]]]:
    """A page of each generator, and its leaves as readers see them."""
    parts = Path(__file__).with_name("dialect_pages.txt").read_text(encoding="utf-8").split("@@@")
    names_and_texts = (part.removeprefix(" ").split("\n", 1) for part in parts[1::2])
    leaves = (part.strip().split("\n") for part in parts[2::2])
    return {name: (text, seen) for (name, text), seen in zip(names_and_texts, leaves, strict=True)}


PAGES = load_pages()
MDX = {"Mintlify and Starlight"}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_leaves_are_what_readers_see(name: str, ending: str) -> None:
    text, seen = PAGES[name]
    text, source = text.replace("\n", ending), "a.mdx" if name in MDX else "a.md"
    assert [" ".join(leaf.split()) for leaf in shown_texts(text, source=source)] == seen
    check_cover(text, leaves_of(text, source=source), set())


def test_the_rows_of_html_tables_have_their_column_names() -> None:
    head = "<table>\n<tr><th>Part</th><th>Limit</th></tr>\n"
    text = f"{head}<tr>\n <td>Belt</td>\n <td>900 h</td>\n</tr>\n</table>\nEnd."
    rows = [(leaf.metadata["kind"], leaf.metadata.get("header")) for leaf in leaves_of(text)]
    assert rows == [("table_row", None), ("table_row", "| Part | Limit |"), ("prose", None)]
    shown = [" ".join(row.split()) for row in shown_texts(text)]
    assert shown == ["| Part | Limit |", "| Belt | 900 h |", "End."]
    whole = "| Part | Limit |\n|---|---|\n| Belt | 900 h |\n\nEnd."
    assert display(mask(text)) == whole and display(mask(text.replace("\n", ""))) == whole
    assert display(mask(text.replace("</table>\n", "\n"))) == whole  # never closed
    assert display(mask("<table><tr><td>a</td><tr><td>b</td><td>c")) == "| a |  |\n|---|---|\n| b | c |"
    masked = mask("<table>\n<tr>\n<td>A</td>\n\n<td>B</td>\n</tr>\n</table>\n")
    assert display(masked[: masked.index("B") + 3]).startswith("| A | B |")  # a quote may end there


def test_code_is_left_as_it_is() -> None:
    for text in ("```html\n<b>{{ x }}</b>\n```\n", "    <b>{% x %}\n", "~~~\n:::note\n[[a]]\n~~~", "`[[a]]`"):
        assert mask(text) == text
    assert mask("- item\n\n    <b>text</b>\n") != "- item\n\n    <b>text</b>\n"
    assert FILL in mask("    <b>x</b>", suffix=".mdx")


def test_data_and_minified_lines_are_no_text() -> None:
    data = "QUJDREVGR0hJ" * 20_000
    started = time.process_time()
    leaves = shown_texts(f"Before ![dot](data:image/png;base64,{data}) after.\n\n{data}\n")
    assert time.process_time() - started < 2
    assert leaves == ["Before ![dot](", ") after."]
    address = "https://example.org/" + "a/" * 150
    table = "|a" * 200 + "|"
    assert (mask(address), mask(table), mask("字" * 400)) == (address, table, "字" * 400)


@pytest.mark.parametrize(
    "text",
    [
        *("<!-- nothing -->", "---\ntitle: A\n---\n{% include page.html %}\n", "- <b></b>\n\n> [!NOTE]\n"),
        *("import A from 'a';\n\n<A />\n", "# A\n\n<div>\n\n</div>\n\n# B\n\n{: .x}\n"),
        *("[![a](b.svg)](c)\n", "```\n{{#include all.rs}}\n```\n"),
        "{% comment %}\n\n# A\n\ntext\n{% endcomment %}\n",
    ],
)
def test_a_page_of_nothing_but_marks_has_neither_sections_nor_leaves(text: str) -> None:
    reader = MarkdownCorpus(lambda: SentenceCutter(count_words), max_bytes=1)
    assert reader.cut(text, source="empty.md") == ([], [])


def test_a_tag_is_known_by_its_closing_one_elsewhere() -> None:
    text = "Put <source> into <target>.\n\n<steps>\n\nOne.\n\n</steps>\n\n```\n</source>\n```\n"
    assert [leaf.text for leaf in leaves_of(text)] == ["Put <source> into <target>.", "One.", "</source>"]


PIECES, OPENINGS = json.loads(Path(__file__).with_name("pieces.json").read_text(encoding="utf-8")).values()
"""Parts of marks, and openings that are never closed."""


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from([".md", ".mdx"]))
def test_a_mask_has_the_text_s_length_lines_and_letters(text: str, suffix: str) -> None:
    masked = mask(text, suffix=suffix)
    assert len(masked) == len(text)
    assert re.sub(r"[^\r\n]", "", masked) == re.sub(r"[^\r\n]", "", text)
    letters = iter(text)
    assert all(letter in letters for letter in display(masked) if letter.isalnum())
    assert FILL not in display(masked)


@pytest.mark.parametrize("piece", OPENINGS)
def test_no_text_takes_long(piece: str) -> None:
    """A text twice as long takes at most three times as long, or next to nothing."""

    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        started = time.process_time()
        for variant in (text, f"<b>{text}", f"x\n\n{text}>%}}"):
            display(mask(variant))
        return time.process_time() - started

    assert seconds(60_000) < 2 or seconds(120_000) / seconds(60_000) < 3
