"""What readers see of Markdown: marks go, the text between them and all code stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.markup.readable import (
    edited,
    find_edits,
    find_marks,
    readable,
    readable_block,
)


def test_a_part_is_read_as_part_of_the_whole() -> None:
    text = "A.\n\n```\n<b>code</b>\n```\n{% include copy.html %}\n\n<b>End</b>.\n"
    assert readable(text, text.index("<b>code"), text.index("</b>.") + 5) == "<b>code</b>\n```\n\nEnd."
    assert readable(text, 0, 2) == "A."


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


PIECES = st.sampled_from(
    [
        *("<", ">", "</", "<b>", "</b>", "<X a='", '="', "<!--", "-->", "{", "}", "{{", "}}", "{%", "%}"),
        *("{{<", ">}}", "{:", "`", "``", "\\", "[!", "![](", ")", "[![a](b)](c)", "{% raw %}"),
        *("{% endraw %}", "{% comment %}", "{% endcomment %}", "\n", "\n\n", "```\n", "~~~", "!!! note\n"),
        *('=== "', ":::", "    ", "- ", "> ", "word", "<script>", "</script>", "\r", "\0", "{#a}", "{.a}"),
        *("(a)=\n", "[r]: x\n", "alt='a'"),
    ]
)


@settings(max_examples=500, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_marks_are_spans_in_order_and_what_is_left_is_of_the_text(text: str) -> None:
    position = 0
    for start, end in find_marks(text):
        assert position <= start < end <= len(text)
        position = end
    letters = iter(text)
    assert all(letter in letters for letter in readable(text) if letter.isalnum())
    assert readable(text.replace("\0", ""), 0, 0) == ""


HOSTILE = [
    *("<a ", "<a b=", "<a b='", '<a b="x', "<a b={", "<a b={{", "<!--", "{%a", "{% raw %}"),
    "{% comment %}",
]
HOSTILE += [
    *("{{<", "{{%a", "{{#include ", "{{site", "{:a", "{.a", "{/*", "{a}", "[!", "![", "[![a]("),
    "[![a](b)](c) ",
]
HOSTILE += [
    *("`", "` ``", "\\", "<script>", "<b>", "</b>", "{% a x=%", ":::", "!!! a\n", "    " * 40 + "!!! a\n"),
    "```\n",
]
HOSTILE += [
    *("{% comment %}\n", "```{note}\n", "[r]: <\n", "[r]: x '\n", "> ```\n", "\t", " ", "- ", "a=='' "),
    *("(a", "\0\0 "),
]


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_long(piece: str) -> None:
    many = piece * (100_000 // len(piece))
    for text in (many, f"<b>{many}", f"x\n\n{many}>%}}"):
        started = time.process_time()
        readable(text)
        readable_block(text)
        assert time.process_time() - started < 5  # a guard against quadratic time: each takes a fraction
