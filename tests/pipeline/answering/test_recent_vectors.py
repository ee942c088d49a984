"""A text that comes again is not embedded again; each text keeps its own vector."""

from __future__ import annotations

import gc
from weakref import ref

import numpy as np

from pipeline.answering.verification import RecentVectors, passage_vectors
from tests.fakes import FakeEncoder


def test_each_text_is_embedded_once_and_together() -> None:
    encoder = FakeEncoder()
    passage_vectors(["a valve"], encoder=encoder)
    vectors = passage_vectors(["a pump", "a valve", "a tank", "a pump"], encoder=encoder)
    assert encoder.calls == [["a valve"], ["a pump", "a tank"]]
    expected = FakeEncoder().encode_passages(["a pump", "a valve", "a tank", "a pump"])
    np.testing.assert_array_equal(np.stack(vectors), expected)


def test_nothing_is_asked_of_the_encoder_for_what_is_kept() -> None:
    encoder = FakeEncoder()
    for _ in range(3):
        passage_vectors(["a valve"], encoder=encoder)
    assert passage_vectors([], encoder=encoder) == []
    assert encoder.calls == [["a valve"]]


def test_the_least_lately_used_is_given_up() -> None:
    encoder, recent = FakeEncoder(), RecentVectors(kept_texts=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        recent.of([text], encoder=encoder)
    assert encoder.calls == [["a"], ["b"], ["c"], ["b"]]


def test_more_at_once_than_are_kept_all_come_back() -> None:
    texts = [f"text {number}" for number in range(5)]
    assert len(RecentVectors(kept_texts=2).of(texts, encoder=FakeEncoder())) == 5


def test_encoders_share_nothing_and_are_not_held() -> None:
    one, other = FakeEncoder(), FakeEncoder()
    for encoder in (one, other):
        passage_vectors(["a valve"], encoder=encoder)
    assert one.calls == other.calls == [["a valve"]]
    held = ref(one)
    del one, encoder
    gc.collect()
    assert held() is None
