"""Answerability: the two models by hand, the calibrations, the rule for codes, and the verdict."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pipeline.answer import Answerability
from pipeline.finding.answerability import doubted, judge, names_unknown_code
from pipeline.finding.verdict_signals import IndexFacts, signals
from pipeline.finding.verdict_weights import BUNDLED, BY_MODEL, Calibration, Scorer, calibrated
from pipeline.stores.base import SearchResponse
from tests.pipeline.passages import make_passage

NOTHING = SearchResponse((), (), (), ())
SMALL = IndexFacts(sentences=2_000, unknown=frozenset())
SURE = Calibration(Scorer({}, 50.0), Scorer({}, 50.0), threshold=0.2, sure=0.6)
GOOD = {
    "nearest_sentence": 0.8,
    "nearest_section": 0.7,
    "agreed": 0.8,
    "closeness": 0.8,
    "coverage": 1.0,
    "asks_focus": 0.0,
    "focus_missing": 0.0,
    "lacks_fact": 0.0,
    **SMALL.signals(),
}
STRANGE = GOOD | {"nearest_sentence": 0.25, "nearest_section": 0.15, "agreed": 0.1, "closeness": 0.25}


def test_a_scorer_by_hand() -> None:
    # .5 + 2 * .6 - 1 * .2 = 1.5
    scorer = Scorer({"closeness": 2.0, "agreed": -1.0}, intercept=0.5)
    found = {"closeness": 0.6, "agreed": 0.2, "coverage": 1.0}
    assert scorer.probability(found) == pytest.approx(1 / (1 + math.exp(-1.5)))
    assert Scorer({}, -1e9).probability({}) == pytest.approx(0)
    assert Scorer({}, 1e9).probability({}) == pytest.approx(1)


def test_below_the_threshold_the_topic_counts_above_it_the_answer() -> None:
    model = Calibration(Scorer({"a": 1.0}, 0.0), Scorer({"b": 1.0}, 0.0), threshold=0.4, sure=0.7)
    off_topic = 1 / (1 + math.exp(1))
    assert model.probability({"a": -1.0, "b": 9.0}) == pytest.approx(off_topic)
    # on topic: .4 + .6 * .5
    assert model.probability({"a": 0.0, "b": 0.0}) == pytest.approx(0.7)
    assert model.probability({"a": 9.0, "b": -50.0}) == pytest.approx(0.4)


def test_three_verdicts() -> None:
    verdicts = [Answerability(p, 0.3, sure=0.6).verdict for p in (0.29, 0.3, 0.59, 0.6)]
    assert verdicts == ["not in the documents", "closest", "closest", "answered"]


@pytest.mark.parametrize(("stray", "verdict"), [(0.05, "answered"), (0.15, "closest")])
def test_a_stray_word_makes_an_answer_the_closest_at_best(stray: float, verdict: str) -> None:
    model = replace(SURE, stray=0.1)
    found = doubted(Answerability(0.9, 0.2, {"coverage": 1.0}, sure=0.6), stray, calibration=model)
    assert found.verdict == verdict
    assert found.signals == {"coverage": 1.0, "stray_word": stray}
    assert doubted(Answerability(0.1, 0.2, sure=0.6), stray, calibration=model).probability == 0.1


def test_the_verdict_carries_its_signals_and_both_thresholds() -> None:
    model = Calibration(Scorer({}, 0.0), Scorer({}, 0.0), threshold=0.5, sure=0.9)
    verdict = judge("fan", NOTHING, [make_passage("a", score=0.7)], index=SMALL, calibration=model)
    assert (verdict.probability, verdict.threshold, verdict.sure) == (0.75, 0.5, 0.9)
    assert verdict.verdict == "closest"
    assert set(verdict.signals) == set(signals("fan", NOTHING, [make_passage("a")], SMALL))


def test_nothing_found_is_a_plain_no() -> None:
    verdict = judge("fan", NOTHING, [], index=SMALL, calibration=SURE)
    assert (verdict.probability, verdict.threshold, verdict.answerable) == (0.0, 0.2, False)


def test_the_threshold_of_the_settings_wins_and_sure_keeps_its_place() -> None:
    assert calibrated("all-MiniLM-L6-v2") is calibrated("ollama/one-not-calibrated") is BUNDLED
    assert calibrated("all-MiniLM-L6-v2", threshold=0.9).threshold == 0.9
    # sure is half way between the threshold and 1: it stays there
    assert SURE.at(0.4).sure == pytest.approx(0.7)
    assert SURE.at(0.4).at(0.2).sure == pytest.approx(0.6)
    assert SURE.at(1.0).sure == 1.0


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_a_threshold_of_0_refuses_nothing_and_one_of_1_everything_but_the_certain(threshold: float) -> None:
    model = replace(BUNDLED, topic=Scorer({}, -9.0)).at(threshold)
    verdict = judge("fan", NOTHING, [make_passage("a")], index=SMALL, calibration=model)
    assert verdict.answerable is (threshold == 0.0)


@pytest.mark.parametrize("calibration", BY_MODEL.values(), ids=BY_MODEL)
def test_every_calibrated_weight_has_its_signal(calibration: Calibration) -> None:
    found = set(signals("fan", NOTHING, [make_passage("a")], SMALL))
    assert set(calibration.topic.weights) <= found
    assert set(calibration.answer.weights) <= found
    assert 0 < calibration.threshold < calibration.sure < 1


def test_the_shipped_models_tell_a_good_find_from_a_strange_one_and_from_one_without_the_fact() -> None:
    assert BUNDLED.probability(GOOD) >= BUNDLED.sure
    assert BUNDLED.probability(STRANGE) < BUNDLED.threshold
    lacking = GOOD | {"lacks_fact": 1.0, "nearest_section": 0.45, "closeness": 0.5}
    assert BUNDLED.threshold <= BUNDLED.probability(lacking) < BUNDLED.sure


def test_among_more_sentences_the_same_find_says_less_and_so_it_does_with_a_word_that_is_nowhere() -> None:
    weak = GOOD | {"nearest_sentence": 0.5, "nearest_section": 0.4, "agreed": 0.4, "closeness": 0.5}
    others = [IndexFacts(90_000, unknown=frozenset()), IndexFacts(2_000, unknown=frozenset({"zebra"}))]
    assert all(
        BUNDLED.topic.probability(weak | i.signals()) < BUNDLED.topic.probability(weak) for i in others
    )


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("What does alarm C-123 mean?", True),
        ("What does alarm C-113 mean?", False),
    ],
)
def test_a_number_that_is_missing_from_a_series(question: str, unknown: bool) -> None:
    passages = [
        make_passage("a", text="C-111 is cold. C-112 is hot, see P-1 and P-2."),
        make_passage("b", text="It is loud.", heading_path=("Alarms", "C-113: noise")),
    ]
    assert names_unknown_code(question, passages) is unknown
    verdict = judge(question, NOTHING, passages, index=SMALL, calibration=SURE)
    assert ("unknown_code" in verdict.signals) is unknown
    assert verdict.verdict == ("closest" if unknown else "answered")


def test_a_code_that_is_missing_raises_no_verdict() -> None:
    passages = [make_passage("a", text="C-111, C-112 and C-113 are alarms.")]
    strange = replace(SURE, topic=Scorer({}, -50.0))
    verdict = judge("What is C-123?", NOTHING, passages, index=SMALL, calibration=strange)
    assert verdict.verdict == "not in the documents"
    assert verdict.probability == pytest.approx(0)


@pytest.mark.parametrize(
    ("question", "heading", "verdict"),
    [
        ("what does C-111 mean", "C-111 cold tank", "answered"),
        ("what does C-111 mean", "Cold tanks", "closest"),
        ("what colour has C-111", "C-111 cold tank", "closest"),
    ],
)
def test_the_section_of_a_code_answers_what_it_is(question: str, heading: str, verdict: str) -> None:
    passages = [make_passage("a", text="C-111 means a cold tank.", heading_path=("Alarms", heading))]
    doubtful = replace(SURE, topic=Scorer({}, -0.5), answer=Scorer({}, -0.5))
    assert judge(question, NOTHING, passages, index=SMALL, calibration=doubtful).verdict == verdict


@pytest.mark.parametrize(
    ("question", "unknown", "verdict"),
    [
        ("how do I bake sourdough bread?", {"sourdough", "bread"}, "closest"),
        ("how do I bake bread?", {"bread"}, "answered"),  # one may be a paraphrase
        ("why does the bed bake with closed vents in sourdough bread?", {"sourdough", "bread"}, "answered"),
    ],
)
def test_a_question_whose_words_no_document_has_is_not_answered(
    question: str, unknown: set[str], verdict: str
) -> None:
    index = IndexFacts(sentences=2_000, unknown=frozenset(unknown))
    passage = make_passage("bed", text="Before every BAKE the vent is looked at.")
    assert judge(question, NOTHING, [passage], index=index, calibration=SURE).verdict == verdict
