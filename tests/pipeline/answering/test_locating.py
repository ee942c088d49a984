"""A marker becomes the leaves that support the sentence."""

from __future__ import annotations

import pytest

from pipeline.answer import Passage
from pipeline.answering.sentence_support import Evidence, evidence_of
from pipeline.answering.verification import Judge, SentenceLocator
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import ENCODER, section_named


def passages(store: EmbeddedStore, *headings: str) -> dict[int, Passage]:
    found = {}
    for number, heading in enumerate(headings, start=1):
        section_id = section_named(store, heading)
        section = store.sections.get_many([section_id])[section_id]
        found[number] = Passage(section, (), True, 1.0)
    return found


def locator(store: EmbeddedStore, *headings: str) -> SentenceLocator:
    given = passages(store, *headings)
    judge = Judge(evidence_of(given, store=store), encoder=ENCODER)
    return SentenceLocator(given, judge=judge, encoder=ENCODER)


def located(store: EmbeddedStore, heading: str, sentence: str) -> list[str]:
    return [place.leaf.text for place in locator(store, heading)(sentence, 1)]


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


@pytest.mark.parametrize(
    ("sentence", "number", "expected"),
    [
        ("It hums at 4000 rpm", 1, ["It hums at 4000 rpm."]),
        ("It hums at 4000 rpm", 2, ["It hums at 4000 rpm."]),  # the wrong passage
        ("The oxygen tank feeds the cabin", 2, ["The oxygen tank feeds the cabin."]),
        ("Bananas grow in warm countries", 2, ["The oxygen tank feeds the cabin."]),  # none says so: as it is
    ],
)
def test_a_marker_of_the_wrong_passage_stands_for_the_right_one(
    manual: EmbeddedStore, sentence: str, number: int, expected: list[str]
) -> None:
    found = locator(manual, "Cabin fan", "Oxygen tank")(sentence, number)
    assert [place.leaf.text for place in found] == expected
    for place in found:
        assert place.leaf.text in place.passage.section.text


def test_a_section_that_is_gone_from_the_index_supports_nothing(manual: EmbeddedStore) -> None:
    given = passages(manual, "Cabin fan")
    judge = Judge(Evidence([], {}), encoder=ENCODER)
    assert SentenceLocator(given, judge=judge, encoder=ENCODER)("It hums", 1) == []
