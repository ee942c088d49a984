"""Cross-encoders: the bundled one's scores, and why there may be none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.models import cross_encoder
from pipeline.models.cross_encoder import OnnxCrossEncoder, find_cross_encoder

QUESTION = "How often is the filter of the pump changed?"
ANSWER = "The filter is changed every ninety days."
PASSAGES = [
    "The crew eats at noon.",
    f"Pump > Care\n{ANSWER}",
    "Filters are kept in locker 4.",
    "",
    ANSWER * 20,
]


def test_the_passage_that_answers_has_the_highest_score() -> None:
    scores = OnnxCrossEncoder().score(QUESTION, PASSAGES)
    assert scores.dtype == np.float32
    assert int(scores[:4].argmax()) == 1
    assert scores[1] > 0 > scores[0]
    assert OnnxCrossEncoder().score(QUESTION, []).shape == (0,)


def test_a_score_does_not_depend_on_the_other_passages() -> None:
    bundled = OnnxCrossEncoder()
    alone = [bundled.score(QUESTION, [passage])[0] for passage in PASSAGES]
    np.testing.assert_array_equal(bundled.score(QUESTION, PASSAGES * 3), alone * 3)
    np.testing.assert_array_equal(bundled.score(QUESTION, PASSAGES[::-1]), alone[::-1])


def test_a_long_passage_loses_its_end() -> None:
    scores = OnnxCrossEncoder().score(QUESTION, ["valve " * 200, "valve " * 200 + ANSWER])
    assert scores[0] == scores[1]


def test_auto_is_the_bundled_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, choice = find_cross_encoder("auto")
    assert isinstance(encoder, OnnxCrossEncoder)
    assert (encoder.name, choice.name, choice.provider) == ("athena-cross-encoder",) * 2 + ("bundled",)
    monkeypatch.setattr(cross_encoder, "BUNDLED_MODEL", tmp_path / "gone.onnx")
    encoder, choice = find_cross_encoder("auto")
    assert encoder is None
    assert ("gone.onnx" in choice.detail, choice.fix) == (True, "Install Athena again.")


@pytest.mark.parametrize("name", ["none", ""])
def test_switched_off(name: str) -> None:
    encoder, choice = find_cross_encoder(name)
    assert encoder is None
    assert choice.provider == "none" and "ATHENA_CROSS_ENCODER" in choice.detail
