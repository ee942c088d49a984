"""Spelling: one edit, and never a word that the documents have."""

from __future__ import annotations

from collections.abc import Collection, Set
from typing import Any

import pytest

from pipeline.analysis import analyse
from pipeline.finding.spelling import corrected, is_misspelt
from pipeline.stores.base import words_of

TEXT = "The valve of the nitrogen tank is opened. The valves, a value, max pressure, die Pumpe läuft. Tank."


class Document:
    """The words of a text."""

    def vocabulary(self, initial: str) -> Set[str]:
        return {word for word in words_of([TEXT]) if word.startswith(initial)}

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        return frozenset(terms) - {*analyse(TEXT)}


@pytest.mark.parametrize(
    ("question", "read_as"),
    [
        ("Is the nitrogn tank cold?", "Is the nitrogen tank cold?"),  # a letter left out
        ("nitroggen", "nitrogen"),  # added
        ("nitrohen", "nitrogen"),  # another
        ("Nitorgen!", "nitrogen!"),  # two swapped
        ("pumpe laeuft", "pumpe laeuft"),  # two edits
        ("bank", "bank"),  # never the first letter
        ("openef", "opened"),  # only its ending
        ("valev", "valve"),  # the same letters before another one: value
        ("tnk", "tnk"),  # too short
        ("valle", "valle"),  # a change, in a short word
        ("vale", "vale"),
        ("valves", "valves"),
        ("presure/a.md nitrogn-x --nitrogn x.nitrogn", "presure/a.md nitrogn-x --nitrogn x.nitrogn"),
        ("does maximum", "does maximum"),
    ],
)
def test_a_word_that_no_document_has_is_read_as_the_one_beside_it(question: str, read_as: str) -> None:
    document: Any = Document()
    assert corrected(question, document) == read_as
    assert is_misspelt(question, read_as) == (read_as != question and question != "openef")
