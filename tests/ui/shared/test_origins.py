"""Converted documents in words, and without what their conversion wrote at their beginning."""

from __future__ import annotations

from readers.converting.converted import Converted, as_document
from ui.shared.markdown_tree import markdown_tree
from ui.shared.origins import converted_from, document_tree

MADE = as_document(Converted("# Lamp\n\nTurn the ring.", left_out=("1 image",)), title="DOCX")
OWN = "---\ntitle: Lamp\n---\n\n# Lamp\n"


def test_a_conversion_is_said_in_words() -> None:
    assert converted_from(MADE) == "Converted from DOCX; left out: 1 image"
    assert converted_from(OWN) == ""


def test_front_matter_is_left_out_only_where_a_conversion_wrote_it() -> None:
    assert document_tree(MADE) == markdown_tree("# Lamp\n\nTurn the ring.\n")
    assert document_tree(OWN) == markdown_tree(OWN)
