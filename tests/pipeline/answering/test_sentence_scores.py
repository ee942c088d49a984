"""Signals of the leaves, and the chances that are made of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.answering.sentence_scores import SIGNALS, WEIGHTS, sentence_chances, sentence_signals
from pipeline.nodes import ScoredNode
from tests.pipeline.answering.leaves import passage_of

TEXT = "The fan hums.\n\n- It turns at 4000 rpm.\n- It is old."
QUESTION = "How fast does the fan turn?"


def column(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], name: str) -> list[float]:
    return [float(value) for value in values[:, SIGNALS.index(name)]]


def test_each_signal_is_computed_by_hand() -> None:
    found = passage_of(TEXT)
    other = passage_of("The pump leaks.", title="Pump")
    other = replace(other, passage=replace(other.passage, score=2.0))
    values = sentence_signals(QUESTION, [found, other])
    assert values.shape == (4, len(SIGNALS))
    assert column(values, "section") == [0.5] * 3 + [1.0]
    assert column(values, "search") == [0.0] * 4
    assert column(values, "coverage")[:3] == pytest.approx([1 / 3, 1 / 3, 0])  # of "fast", "fan", "turn"
    assert column(values, "length")[0] < column(values, "length")[1]


def test_chances_add_up_and_rise_with_a_signal() -> None:
    found = [passage_of(TEXT), passage_of("The pump leaks.")]
    values = np.zeros((4, len(SIGNALS)))
    even = sentence_chances(values, found)
    assert [len(chances) for chances in even] == [3, 1]
    assert np.concatenate(even) == pytest.approx([0.25] * 4)
    values[3, SIGNALS.index("coverage")] = 1.0
    assert sentence_chances(values, found)[1][0] > 0.25
    assert all(weight > 0 for weight in WEIGHTS.values())


def test_a_found_sentence_has_a_share_of_the_best_ones_score() -> None:
    found = passage_of("One is here. Two is there.")
    hits = tuple(ScoredNode(leaf, score) for leaf, score in zip(found.leaves, (0.8, 0.4), strict=True))
    found = replace(found, passage=replace(found.passage, sentences=hits))
    assert column(sentence_signals("?", [found]), "search") == [1.0, 0.5]
