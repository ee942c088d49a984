"""A quote as Markdown that can stand alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.answer import Citation, Unit
from pipeline.answering.excerpts import shown
from tests import made_answers as made


def test_rows_get_the_header_of_their_table() -> None:
    found = shown(made.ROWS_UNIT, made.ROWS)
    assert found.text == f"{made.TABLE_HEADER}\n{made.ROWS.quote}"
    assert (found.lead, found.opening) == (made.TABLE_LEAD, f"{made.TABLE_HEADER}\n")


def test_lines_of_code_get_a_fence() -> None:
    found = shown(made.CODE_UNIT, made.CODE)
    assert (found.lead, found.text) == (made.CODE_LEAD, "```\nshow ECS\nlist alarms")


@pytest.mark.parametrize(
    ("citation", "unit", "word"),
    [
        (made.ROWS, made.ROWS_UNIT, "fan from"),
        (made.STEPS, made.STEPS_UNIT, "nine minutes"),
        (made.CODE, made.CODE_UNIT, "alarms"),
        (made.cited(2, "Fuel cell warm-up", "- watch the flow", "higher."), made.STEPS_UNIT, "close it"),
    ],
)
def test_offsets_of_the_file_find_their_words(citation: Citation, unit: Unit, word: str) -> None:
    excerpt = shown(unit, citation)
    start = made.MANUAL.index(word, citation.start)
    assert excerpt.text[excerpt.place(start) : excerpt.place(start + len(word))] == word


def test_what_is_for_programs_is_not_shown_and_offsets_find_their_words() -> None:
    text = "<!-- a -->\n- See [`x`][x]<!-- ignore --> first.\n  <!-- b\n  c -->\n  Then:\n\n  ```\n  {{#include x.txt}}\n  ```\n\n  Done.\n"  # fmt: skip  # noqa: E501
    start, end = text.index("- See"), len(text) - 1
    citation = replace(
        made.ROWS, quote=text[start:end], start=start, end=end, section_text=text, section_start=0
    )
    excerpt = shown(Unit(1, "list", start, end), citation)
    assert excerpt.text == "- See `x` first.\n\n  Then:\n\n  ```\n\n  ```\n\n  Done."
    for word in ("See", "first", "Then", "Done"):
        place = excerpt.place(text.index(word))
        assert excerpt.text[place : place + len(word)] == word


def test_tags_in_code_are_code_where_the_quote_begins_within_it() -> None:
    text = "So:\n\n```html\n<b>\nbold <!-- a -->\n```\n\n<b>Bold</b> <!-- a -->it is."
    start, middle = text.index("<b>"), text.index("\n```\n")
    code = replace(made.ROWS, quote=text[start:middle], start=start, section_text=text, section_start=0)
    assert shown(Unit(1, "code", start, middle), code).text == f"```\n{code.quote}"
    start = text.index("<b>Bold")
    prose = replace(made.ROWS, quote=text[start:], start=start, section_text=text, section_start=0)
    assert shown(Unit(1, "paragraph", start, len(text)), prose).text == "Bold it is."


def test_items_further_in_lose_the_indent_of_the_first() -> None:
    citation = made.cited(2, "Fuel cell warm-up", "- watch the flow", "higher.")
    excerpt = shown(replace(made.STEPS_UNIT, lead=""), citation)
    assert [line[:2] for line in excerpt.text.splitlines()] == ["- ", "- "]


@pytest.mark.parametrize(
    ("text", "begins", "shown_as"),
    [
        ("> Mind the valve.\n> It is hot.", "Mind", "Mind the valve.\nIt is hot."),
        ("> A note. Mind the\n> valve.", "Mind", "Mind the\nvalve."),
        ("<b>Table</b>\n\n> A note.", "Table", "Table\n\n> A note."),
    ],
)
def test_quoted_lines_lose_the_mark_that_the_first_line_lacks(text: str, begins: str, shown_as: str) -> None:
    start = text.index(begins)
    citation = replace(
        made.SENTENCE, quote=text[start:], start=start, end=len(text), section_text=text, section_start=0
    )
    assert shown(replace(made.SENTENCE_UNIT, lead=""), citation).text == shown_as


def test_a_row_that_was_cut_before_its_first_word_goes() -> None:
    cut = replace(made.ROWS, quote=f"{made.ROWS.quote}\n| ")
    assert shown(made.ROWS_UNIT, cut).text == f"{made.TABLE_HEADER}\n{made.ROWS.quote}"
