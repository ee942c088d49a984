"""Plain text and Jupyter, which need nothing but Python; and what every converted text says of itself."""

from __future__ import annotations

import pytest

from readers.converting.converted import (
    Conversion,
    Converted,
    address_of,
    as_document,
    conversion_of,
    convert_text,
)
from readers.converting.notebook import convert_notebook
from readers.errors import ReaderError
from readers.sections import read_sections
from tests.made_files import notebook


def test_plain_text_keeps_every_word_and_nothing_of_it_is_a_mark() -> None:
    text = (
        "# not a heading\r\nUse <path> & vector<int>.\n====\n<!-- page 9 -->\n- item\n\f\n:::note\nECS_LN2\n"
    )
    made = convert_text(text).text
    assert made.splitlines()[1] == r"Use \<path> & vector\<int>."
    assert "ECS_LN2" in made
    sections = read_sections(made, source="a.txt")
    assert [section.metadata["heading_path"] for section in sections] == [[]]
    assert "page" not in sections[0].metadata
    for word in ("not a heading", "vector", "item", "note"):
        assert word in sections[0].text


def test_indented_text_is_no_code() -> None:
    assert convert_text("    A letter.\n\n      More.\n").text.startswith("A letter.")


def test_a_notebook_is_its_text_and_its_code_without_outputs() -> None:
    made = convert_notebook(
        notebook(("markdown", "# Fans\n\nThey hum."), ("code", "speed = 3\n```"), ("code", ""), outputs=2),
        source="a.ipynb",
    )
    assert made.text == "# Fans\n\nThey hum.\n\n````python\nspeed = 3\n```\n````"
    assert made.left_out == ("4 outputs",)


def test_a_notebook_of_version_3_is_read() -> None:
    made = convert_notebook(
        '{"worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": "Fans"},'
        ' {"cell_type": "code", "input": ["x = 1"]}]}]}',
        source="a.ipynb",
    )
    assert made.text == "## Fans\n\n```\nx = 1\n```"


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", '{"a": 1}', '"x"', "3"])
def test_what_is_no_notebook_is_named(text: str) -> None:
    with pytest.raises(ReaderError, match=r"'a\.ipynb': not a Jupyter notebook"):
        convert_notebook(text, source="a.ipynb")


@pytest.mark.parametrize("cell", ['{"cell_type": "code", "source": [1, null], "outputs": 3}', "7", "null"])
def test_cells_of_another_shape_are_no_fault(cell: str) -> None:
    text = f'{{"cells": [{cell}, {{"cell_type": "markdown", "source": "Text."}}], "metadata": []}}'
    assert convert_notebook(text, source="a.ipynb").text == "Text."


def test_a_converted_text_says_what_it_was_and_what_was_lost() -> None:
    converted = Converted(
        "Hello\0 there.\r\n\r\n\r\n\r\nEnd.", 'A "title"\n---', 12, ("3 images", "1 equation")
    )
    text = as_document(converted, title="PDF", address="https://example.org/a?b=c#d")
    assert text.endswith("---\n\nHello there.\n\nEnd.\n")
    made = conversion_of(text, source="a.pdf")
    assert made == Conversion("a.pdf", "PDF", 12, ("3 images", "1 equation"))
    assert made.summary == "PDF, 12 pages; left out: 3 images, 1 equation"
    assert address_of(text) == "https://example.org/a?b=c#d"
    (section,) = read_sections(text, source="a.pdf")
    assert section.metadata["title"] == 'A "title" ---'


def test_markdown_is_not_converted() -> None:
    assert conversion_of("# Fan\n\nIt hums.\n") is None
    assert conversion_of("---\ntitle: converted_from: x\n---\nText.\n") is None
