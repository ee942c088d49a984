"""The verdict: signals by hand, and what overrules the model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.answer import Passage
from pipeline.finding.verdict import UNCALIBRATED, Calibration, judge, signals
from pipeline.stores.base import Hit, SearchResponse
from tests.pipeline.passages import make_passage

MODEL = Calibration({"coverage": 2.0}, intercept=-1.0, threshold=0.4, sure=0.6)
RESPONSE = SearchResponse(
    bm25_sections=(Hit("a", "a", 9.0),),
    bm25_sentences=(Hit("b/0", "b", 9.0), Hit("a/3", "a", 8.0)),
    dense_sections=(Hit("c", "c", 0.7), Hit("a", "a", 0.3)),
    dense_sentences=(Hit("z/0", "z", 0.9), Hit("a/3", "a", 0.5), Hit("b/0", "b", 0.4)),
)


def passage(text: str, **metadata: object) -> Passage:
    made = make_passage("a", text=text)
    return replace(made, section=replace(made.section, metadata={**made.section.metadata, **metadata}))


def test_signals_by_hand() -> None:
    passages = [passage("The fan hums."), *map(make_passage, "bcz")]
    found = signals("Why does the fan hum, zebra?", RESPONSE, passages, sentences=10_000, unknown=("zebra",))
    assert found == pytest.approx({
        "nearest_sentence": 0.9, "nearest_section": 0.7,
        "closeness": 0.7,  # of a, b and c; z is the fourth passage
        "agreed": 0.5,
        "coverage": 2 / 3, "known": 2 / 3,  # fan, hum of fan, hum, zebra
        "index_size": 0.8,
    })  # fmt: skip


def test_without_vectors_coverage_stands_for_the_cosines() -> None:
    words = replace(RESPONSE, dense_sections=(), dense_sentences=())
    found = signals("fan?", words, [passage("The fan hums.")], sentences=5, unknown=())
    assert found.pop("index_size") == pytest.approx(0.6)
    assert set(found.values()) == {1.0}


@pytest.mark.parametrize(
    ("question", "metadata", "coverage", "verdict"),
    [
        ("fan", {}, 1.0, "answered"),
        ("fan", {}, 0.5, "closest"),
        ("fan", {}, 0.0, "not in the documents"),
        ("alarm C-112", {"heading_path": ["Alarms", "C-112"]}, 0.0, "answered"),
        ("What does C-112 say?", {"heading_path": ["Alarms", "C-112"]}, 0.0, "answered"),
        ("alarm C-112", {"heading_path": ["C-112", "Fans"]}, 0.0, "not in the documents"),
        ("The Fan Alarm!", {"title": "the fan-alarm", "order": 0}, 0.0, "answered"),
        ("The Fan Alarm!", {"title": "the fan-alarm", "order": 1}, 0.0, "not in the documents"),
        ("fan zebra", {"language": "de"}, 1.0, "closest"),
        ("alarm fan", {"language": "de"}, 1.0, "answered"),
        ("fan zebra", {"language": "de"}, 0.0, "not in the documents"),
        ("fan K-99", {}, 1.0, "closest"),  # no document has this name
    ],
)
def test_what_overrules_the_model(
    question: str, metadata: dict[str, object], coverage: float, verdict: str
) -> None:
    first = passage("An alarm of the fan.", **metadata)
    found = judge(question, {"coverage": coverage}, first, calibration=MODEL, unknown=["k-99"])
    assert found.verdict == verdict


def test_a_model_that_was_not_calibrated_goes_by_words() -> None:
    verdicts = [
        judge("", {"coverage": share}, passage(""), calibration=UNCALIBRATED, unknown=()).verdict
        for share in (0.0, 0.5, 1.0)
    ]
    assert verdicts == ["not in the documents", "closest", "answered"]
