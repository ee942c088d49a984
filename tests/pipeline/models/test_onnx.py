"""Batches: properties of the division, by random lengths; files that are missing or broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ModelUnavailable
from pipeline.models.embedding import OnnxEncoder
from pipeline.models.onnx import map_batches, open_session, open_tokenizer


@given(st.lists(st.integers(1, 300), max_size=200), st.integers(1, 600))
def test_batches_hold_every_text_once_in_equal_lengths(lengths: list[int], batch_tokens: int) -> None:
    batches = [batch for batch, _ in map_batches(len, lengths, batch_tokens=batch_tokens)]
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len({lengths[index] for index in batch}) == 1
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= batch_tokens
    firsts = [lengths[batch[0]] for batch in batches]
    assert firsts == sorted(firsts, reverse=True)


def test_each_batch_comes_with_its_result() -> None:
    found = map_batches(sum, [3, 5, 3, 3, 5], batch_tokens=6)
    assert list(found) == [([1], 1), ([4], 4), ([0, 2], 2), ([3], 3)]


def test_the_callers_arithmetic_stays_as_it_is() -> None:
    """ONNX Runtime can count tiny numbers as 0; it then does so for all that its caller's thread computes."""
    OnnxEncoder().encode_query("The tank is cold.")
    assert sys.float_info.min / 2 > 0


def test_missing_and_broken_files(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("no json")
    with pytest.raises(ModelUnavailable, match=r"model file .*tokenizer\.json"):
        open_tokenizer(tmp_path, max_tokens=None)
    with pytest.raises(ModelUnavailable, match=r"model file .*model\.onnx"):
        open_session(tmp_path / "model.onnx")
