"""Stray words: what is left out of a question, and how much nearer that brings it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.analysis import analyse
from pipeline.finding.answerability import MOST_STRAY_WORDS, stray_word, without_each
from tests.pipeline.passages import make_passage

QUESTION = "Who painted the fuel cells?"
AXES = {"painted": (1.0, 0.0), "cells": (0.0, 1.0)}
PAINTED, CELLS = (next(iter(analyse(word))) for word in AXES)


def encode(texts: Sequence[str]) -> NDArray[Any]:
    rows = np.array([np.sum([axis for word, axis in AXES.items() if word in text], axis=0) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def stray(unknown: Sequence[str], *, sentence: tuple[float, float] = (0.0, 1.0), found: bool = True) -> float:
    passage = make_passage("a", sentences=[(0, "About cells.", 1.0)] if found else ())
    sentences = Mock(vectors=lambda ids: {node_id: np.array(sentence) for node_id in ids})
    encoder = Mock(encode_passages=encode)
    return stray_word(QUESTION, unknown, [passage], sentences=sentences, encoder=encoder)


def test_without_a_word_beside_the_point_the_question_is_nearer() -> None:
    assert stray([PAINTED]) == pytest.approx(1 - math.sqrt(0.5))


def test_a_word_that_means_what_was_found_is_not_stray() -> None:
    assert stray([PAINTED], sentence=(math.sqrt(0.5), math.sqrt(0.5))) == 0.0


def test_the_word_that_makes_the_most_of_it_counts() -> None:
    assert stray([CELLS, PAINTED]) == stray([PAINTED])


@pytest.mark.parametrize(("unknown", "found"), [([], True), (["elsewhere"], True), ([PAINTED], False)])
def test_nothing_to_compare_is_no_difference(unknown: list[str], found: bool) -> None:
    assert stray(unknown, found=found) == 0.0


def test_each_term_is_left_out_wherever_it_stands() -> None:
    assert without_each("Cells of fuel cells, painted", [PAINTED, CELLS]) == [
        "of fuel painted",
        "Cells of fuel cells,",
    ]
    assert without_each("Cells?", [CELLS]) == []


def test_few_words_are_tried() -> None:
    words = [f"w{letter}" for letter in "abcdefgh"]
    encoder = Mock(encode_passages=Mock(return_value=np.eye(9)))
    sentences = Mock(vectors=lambda ids: dict.fromkeys(ids, np.ones(9)))
    passage = make_passage("a", sentences=[(0, "Text.", 1.0)])
    stray_word(" ".join(words), words, [passage], sentences=sentences, encoder=encoder)
    (texts,) = encoder.encode_passages.call_args.args
    assert len(texts) == 1 + MOST_STRAY_WORDS
