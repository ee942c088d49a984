"""Answerability: the signals by hand, the logistic model, and the verdict."""

from __future__ import annotations

import math

import pytest

from pipeline.answer import Answerability
from pipeline.finding.answerability import (
    BUNDLED,
    Calibration,
    calibrated,
    judge,
    names_unknown_code,
    signals,
)
from pipeline.stores.base import Hit, SearchResponse
from tests.pipeline.passages import make_passage

NOTHING = SearchResponse((), (), (), ())


def response(
    *, sections: tuple[Hit, ...] = (), sentences: tuple[Hit, ...] = (), bm25: tuple[Hit, ...] = ()
) -> SearchResponse:
    return SearchResponse(bm25, bm25, sections, sentences)


def test_closeness_is_the_nearest_sentence_of_the_first_three_passages() -> None:
    passages = [make_passage(name, score=0.5) for name in "abcd"]
    found = response(
        sentences=(Hit("d0", "d", 0.9), Hit("b0", "b", 0.6), Hit("a0", "a", 0.4)),
        sections=(Hit("a", "a", 0.8),),
        bm25=(Hit("a", "a", 31.0),),
    )
    assert signals("fan", found, passages)["closeness"] == 0.6


def test_without_a_sentence_the_sections_closeness_counts_and_without_vectors_nothing() -> None:
    passages = [make_passage("a")]
    found = response(sentences=(Hit("z0", "z", 0.9),), sections=(Hit("a", "a", 0.3), Hit("z", "z", 0.7)))
    assert signals("fan", found, passages)["closeness"] == 0.3
    assert signals("fan", response(bm25=(Hit("a", "a", 9.0),)), passages)["closeness"] == 0.0
    assert signals("fan", response(sentences=(Hit("a0", "a", -0.2),)), passages)["closeness"] == 0.0


def test_coverage_by_hand() -> None:
    passages = [
        make_passage("a", text="The pump leaks coolant.", sentences=[(0, "The pump leaks.", 1.0)]),
        make_passage("b", text="Valves.", heading_path=("Manual", "Radiators")),
        make_passage("c", text="Coolant boils.", sentences=[(0, "Coolant boils in pumps.", 1.0)]),
        make_passage("d", text="Pump coolant leaks at radiators quickly."),
    ]
    found = signals("Why does the pump leak coolant at a radiator?", NOTHING, passages)
    # pump, leak, coolant, radiator: a has three; its sentence two, as has c's; d is not among the three
    assert found["coverage"] == 0.75
    assert found["sentence_coverage"] == 0.5


def test_a_question_of_nothing_but_stop_words_is_still_compared() -> None:
    assert signals("what is it", NOTHING, [make_passage("a", text="It is so.")])["coverage"] == pytest.approx(
        2 / 3
    )


def test_no_sentences_no_sentence_coverage() -> None:
    assert signals("fan", NOTHING, [make_passage("a", text="Fan.")])["sentence_coverage"] == 0.0


def test_margin_by_hand() -> None:
    nine = [make_passage(str(number), score=0.9 - number / 100) for number in range(9)]
    assert signals("fan", NOTHING, nine)["margin"] == 0.9
    ten = [*nine, make_passage("t", score=0.25)]
    assert signals("fan", NOTHING, [*ten, make_passage("e", score=0.1)])["margin"] == pytest.approx(0.65)


def test_the_model_by_hand() -> None:
    model = Calibration({"closeness": 2.0, "margin": -1.0}, intercept=0.5, threshold=0.5)
    # .5 + 2 * .6 - 1 * .2 = 1.5
    found = {"closeness": 0.6, "margin": 0.2, "coverage": 1.0}
    assert model.probability(found) == pytest.approx(1 / (1 + math.exp(-1.5)))
    assert Calibration({}, intercept=-1e9, threshold=0.5).probability({}) == pytest.approx(0)
    assert Calibration({}, intercept=1e9, threshold=0.5).probability({}) == pytest.approx(1)


def test_the_verdict() -> None:
    model = Calibration({}, intercept=0.0, threshold=0.5)
    verdict = judge("fan", NOTHING, [make_passage("a", score=0.7)], calibration=model)
    assert (verdict.probability, verdict.threshold, verdict.answerable) == (0.5, 0.5, True)
    assert set(verdict.signals) >= {"closeness", "coverage", "sentence_coverage", "margin"}
    assert not Answerability(0.4999, 0.5).answerable


def test_three_verdicts() -> None:
    verdicts = [Answerability(p, 0.3, sure=0.6).verdict for p in (0.29, 0.3, 0.59, 0.6)]
    assert verdicts == ["not in the documents", "closest", "closest", "answered"]


def test_nothing_found_is_a_plain_no() -> None:
    verdict = judge("fan", NOTHING, [], calibration=Calibration({}, intercept=50.0, threshold=0.3))
    assert (verdict.probability, verdict.threshold, verdict.answerable) == (0.0, 0.3, False)


def test_the_threshold_of_the_settings_wins() -> None:
    assert calibrated("all-MiniLM-L6-v2", threshold=0.9).threshold == 0.9
    assert calibrated("all-MiniLM-L6-v2", threshold=0.0).threshold == 0.0
    assert calibrated("all-MiniLM-L6-v2") == BUNDLED
    assert 0 < BUNDLED.threshold < 1


def test_every_calibrated_weight_has_its_signal() -> None:
    assert set(BUNDLED.weights) <= set(signals("fan", NOTHING, [make_passage("a")]))


def test_the_shipped_model_tells_a_good_find_from_a_bad_one() -> None:
    good = dict.fromkeys(BUNDLED.weights, 0.0) | {"closeness": 0.8, "coverage": 1.0, "sentence_coverage": 0.9}
    bad = dict.fromkeys(BUNDLED.weights, 0.0) | {"closeness": 0.15, "coverage": 0.2}
    assert BUNDLED.probability(bad) < BUNDLED.threshold < BUNDLED.probability(good)


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("What does alarm C-123 mean?", True),
        ("What does alarm C-113 mean?", False),
        ("What is the difference between C-113 and C-123?", False),
        ("What is P-9?", False),  # two pumps are no series
        ("What does alarm mean?", False),
        ("Is C-1230 real, or C-123a?", True),
        ("What is c-123?", False),
    ],
)
def test_a_number_that_is_missing_from_a_series(question: str, unknown: bool) -> None:
    passages = [
        make_passage("a", text="C-111 is cold. C-112 is hot, see P-1 and P-2."),
        make_passage("b", text="It is loud.", heading_path=("Alarms", "C-113: noise")),
    ]
    assert names_unknown_code(question, passages) is unknown
    verdict = judge(question, NOTHING, passages, calibration=BUNDLED)
    assert ("unknown_code" in verdict.signals) is unknown
    assert (verdict.probability == 0.0) is unknown
