"""Unsupported sentences are marked with what is missing; supported ones are not, cited or not."""

from __future__ import annotations

import gc
from weakref import ref

import numpy as np
import pytest

from pipeline.answer import Passage, Support
from pipeline.answering.citations import sentences_of
from pipeline.answering.sentence_support import Evidence, evidence_of
from pipeline.answering.verification import (
    Judge,
    SentenceLocator,
    support_score,
    verify,
)
from pipeline.models import base
from pipeline.models.base import passage_vectors
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeEncoder
from tests.pipeline.answering.evidences import evidence
from tests.pipeline.searching import ENCODER, section_named

SPAN = "The pump P-1 of ECS-LN2-T2 holds 1,000 kPa; run `show P-1` and never open it."
OTHER = "A radar sees the lander from far away."


def checked(answer: str, *, cut_off: bool = False) -> tuple[Support, ...]:
    judge = Judge(evidence([SPAN], [OTHER]), encoder=ENCODER)
    return verify(answer, sentences_of(answer), judge, cut_off=cut_off)


def test_a_sentence_about_something_else_is_not_supported() -> None:
    cited, uncited = checked("Bananas grow in warm countries everywhere [1]. Ripe apples fall in autumn.")
    assert (cited.supported, cited.missing, cited.markers) == (False, (), (1,))
    assert (uncited.supported, uncited.missing, uncited.markers) == (False, (), ())


def test_without_passages_nothing_is_supported() -> None:
    judge = Judge(evidence(), encoder=ENCODER)
    assert not judge("The pump holds 5 kPa.").supported


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("A radar sees the lander. Bananas grow in warm cou", 1),
        ("A radar sees the lander. Bananas grow in warm countries.", 2),
        ("A radar sees the lander. Bananas grow in warm countries [1].", 2),
        ("Bananas grow in warm cou", 0),
        ("", 0),
    ],
)
def test_a_sentence_that_was_cut_off_is_not_checked(answer: str, sentences: int) -> None:
    assert len(checked(answer, cut_off=True)) == sentences
    assert len(checked(answer)) == len(sentences_of(answer))


def test_more_of_a_signal_is_less_support() -> None:
    none = dict.fromkeys(("numbers", "names", "uncovered", "far"), 0.0)
    assert support_score(none) > 0.7
    for name in none:
        assert support_score(none | {name: 1.0}) < 0.5


def test_what_states_nothing_needs_no_citation() -> None:
    assert checked("Do you want to know more?") == ()


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


def test_each_text_is_embedded_once_and_together() -> None:
    encoder = FakeEncoder()
    passage_vectors(["a valve"], encoder=encoder)
    vectors = passage_vectors(["a pump", "a valve", "a tank", "a pump"], encoder=encoder)
    assert encoder.calls == [["a valve"], ["a pump", "a tank"]]
    expected = FakeEncoder().encode_passages(["a pump", "a valve", "a tank", "a pump"])
    np.testing.assert_array_equal(np.stack(vectors), expected)


def test_the_least_recently_used_vector_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "CACHED_TEXTS", 2)
    encoder = FakeEncoder()
    for text in ("a", "b", "a", "c", "a", "b"):
        passage_vectors([text], encoder=encoder)
    assert encoder.calls == [["a"], ["b"], ["c"], ["b"]]
    assert len(passage_vectors([f"text {number}" for number in range(5)], encoder=encoder)) == 5


def test_encoders_share_nothing_and_are_not_held() -> None:
    one, other = FakeEncoder(), FakeEncoder()
    for encoder in (one, other):
        passage_vectors(["a valve"], encoder=encoder)
    assert one.calls == other.calls == [["a valve"]]
    held = ref(one)
    del one, encoder
    gc.collect()
    assert held() is None
