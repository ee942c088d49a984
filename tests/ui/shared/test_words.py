"""Words as widgets take them."""

from __future__ import annotations

from ui.shared.words import plain, shortened, with_code


def test_code_stays_code_and_all_else_is_shown_as_it_is() -> None:
    assert with_code("Run `athena ingest *` on *.md") == r"Run `athena ingest *` on \*\.md"
    assert with_code("one ` alone") == r"one \` alone"
    assert with_code("first\nsecond") == "first  \nsecond"
    assert with_code("") == ""


def test_the_name_of_an_icon_stays_text() -> None:
    assert plain(":material/delete: it") == "\\:\u2060material/delete\\: it"


def test_a_text_is_cut_between_words() -> None:
    assert shortened("one two, three", 9) == "one two …"
    assert shortened("one two", 9) == "one two"
