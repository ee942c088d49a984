"""A marker becomes the leaves that support the sentence."""

from __future__ import annotations

import pytest

from pipeline.answer import Passage
from pipeline.answering.locating import SentenceLocator
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import ENCODER, section_named


def located(store: EmbeddedStore, heading: str, sentence: str) -> list[str]:
    section_id = section_named(store, heading)
    passage = Passage(store.sections.get_many([section_id])[section_id], (), True, 1.0)
    return [leaf.text for leaf in SentenceLocator([passage], store=store, encoder=ENCODER)(sentence, passage)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("It hums at 4000 rpm", ["It hums at 4000 rpm."]),
        ("If broken, the fan shows OFFLINE", ["A broken fan shows OFFLINE."]),
        # One span lacks words that another has: both, in reading order.
        ("When broken, OFFLINE is shown; it hums at 4000 rpm", [
            "It hums at 4000 rpm.", "A broken fan shows OFFLINE."
        ]),
    ],
)  # fmt: skip
def test_the_best_leaf_and_one_more_where_it_adds_words(
    manual: EmbeddedStore, sentence: str, expected: list[str]
) -> None:
    assert located(manual, "Cabin fan", sentence) == expected


def test_words_that_no_leaf_has_bring_the_nearest_one_only(manual: EmbeddedStore) -> None:
    assert len(located(manual, "Cabin fan", "Bananas are yellow")) == 1
    assert len(located(manual, "Cabin fan", "")) == 1


def test_a_section_that_is_gone_from_the_index_supports_nothing(manual: EmbeddedStore) -> None:
    section_id = section_named(manual, "Cabin fan")
    known = Passage(manual.sections.get_many([section_id])[section_id], (), True, 1.0)
    assert SentenceLocator([], store=manual, encoder=ENCODER)("It hums", known) == []
