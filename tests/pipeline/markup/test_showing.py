"""Parts of Markdown as Markdown for readers: what is for programs goes, all else stays to the letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.markup.showing import edited, find_edits, readers_markdown

LISTING = "Here:\n\n```rust,ignore\n{{#rustdoc_include ../a/main.rs:here}}\n```\n\nEnd."


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[`String`][s]<!-- ignore --> is\none", "[`String`][s] is\none"),
        ("A.\n\n<!-- a\nb -->\n\nB.", "A.\n\nB."),
        ('A.\n\n<Listing file="a">\n\n```\nx\n```\n\n</Listing>\n\nB.', "A.\n\n```\nx\n```\n\nB."),
        ('A.\n\n<Listing number="1" caption="How `a` is">\n\nB.\n\n</Listing>', "A.\n\nHow `a` is\n\nB.\n\n"),
        ('<span class="filename">File: a.rs</span>', "File: a.rs"),
        ("| a<br>b | 10<sup>6</sup> |", "| a b | 10^6 |"),
        (LISTING, "Here:\n\n```rust,ignore\n(listing ../a/main.rs:here not found)\n```\n\nEnd."),
        ("> ~~~\n> {{#include a.txt}}\n> ~~~", "> ~~~\n> (listing a.txt not found)\n> ~~~"),
    ],
)
def test_what_is_for_programs_goes(written: str, shown: str) -> None:
    assert readers_markdown(written) == shown


@pytest.mark.parametrize(
    "text",
    [
        "```html\n<!-- a --> <b>\n```",
        "Write `<!-- a -->` or `{{#include a.rs}}`.",
        "```\n// as in\n{{#include a.rs}}\n```",
        "cp <source> <path>, Vec<T>",
        '!!! note "Title"\n    Text.',
        "[a]: https://example.org\n\n[!NOTE]",
    ],
)
def test_code_and_other_markdown_stay(text: str) -> None:
    assert readers_markdown(text) == text


def test_a_part_of_a_fence_is_code() -> None:
    text = "```html\n<b>a</b>\n```"
    assert find_edits(text, 8, 16) == []


def test_a_part_that_begins_with_a_caption_goes_without_the_end_of_its_tag() -> None:
    text = 'A.\n\n<Listing number="1" caption="How `a` is">\n\nB.'
    start = text.index("How")
    assert edited(text[start:], find_edits(text, start, len(text)), base=start) == "How `a` is\n\nB."


@given(st.text(alphabet="ab <!->{#}/`~\n\"'=|"), st.integers(0, 40), st.integers(0, 40))
def test_edits_of_a_part_stay_within_it(text: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    edits = find_edits(text, start, end)
    bounds = [bound for first, last, _ in edits for bound in (first, last)]
    assert bounds == sorted(bounds)
    assert all(start <= bound <= end for bound in bounds)
    edited(text[start:end], edits, base=start)
