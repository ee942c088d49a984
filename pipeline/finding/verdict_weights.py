"""Calibration: how signals become one of three verdicts, with the numbers by embedding model.

The numbers are printed by `python -m evals.calibration.answerability DATA --indexes FOLDER`; what they were
chosen on is said in `docs/decisions/answerability.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


def sigmoid(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Logits as 0..1; those beyond 60 are 0 or 1 to any precision that is shown."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -60, 60))))


@dataclass(frozen=True, slots=True)
class Scorer:
    """A logistic model over the signals."""

    weights: Mapping[str, float]
    intercept: float

    def probability(self, found: Mapping[str, float]) -> float:
        """Its estimate, 0..1."""
        logit = self.intercept + sum(weight * found[name] for name, weight in self.weights.items())
        return float(sigmoid(np.asarray(logit)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Two questions, asked one after the other: is it about the documents' topics, and do they answer it?

    Below `threshold` of `topic` Athena abstains. Above, what `answer` says is scaled to `threshold`..1, and
    from `sure` on what was found is shown as the answer, below it as the closest. They are two because what
    tells a strange question is not what tells one that lacks its answer: in one model, the words that a
    paraphrase lacks make it look strange.
    """

    topic: Scorer
    answer: Scorer
    threshold: float
    sure: float = 0.0
    stray: float = (
        1.0  # a word that no document has is missed, if without it this much more is near; 1 = never
    )

    def probability(self, found: Mapping[str, float]) -> float:
        """One scale for both, 0..1: below `threshold` how much on topic it is, above how well answered."""
        on_topic = self.topic.probability(found)
        if on_topic < self.threshold:
            return on_topic
        return self.threshold + (1 - self.threshold) * self.answer.probability(found)

    def at(self, threshold: float) -> Calibration:
        """The same with another threshold: `sure` stays where it is between it and 1."""
        share = (self.sure - self.threshold) / (1 - self.threshold) if self.threshold < 1 else 0.0
        return replace(self, threshold=threshold, sure=threshold + (1 - threshold) * max(0.0, share))


BUNDLED = Calibration(
    topic=Scorer(
        {
            "nearest_sentence": 7.94,
            "nearest_section": 6.7,
            "agreed": 6.0,
            "index_size": -4.48,
            "lacks_word": -0.86,
        },
        intercept=-3.79,
    ),
    answer=Scorer(
        {
            "closeness": 7.56,
            "nearest_section": 2.73,
            "lacks_fact": -2.98,
            "asks_focus": -0.86,
            "focus_missing": -0.63,
            "index_size": -3.73,
        },
        intercept=-1.4,
    ),
    threshold=0.185,
    sure=0.513,
    stray=0.1,
)

BY_MODEL: Mapping[str, Calibration] = {"all-MiniLM-L6-v2": BUNDLED}


def calibrated(embedding_model: str, *, threshold: float | None = None) -> Calibration:
    """The calibration for an embedding model, with the threshold of the settings where they have one.

    Cosines depend on the model: one that was not calibrated gets the bundled model's numbers.
    `python -m evals.calibration.answerability --embedding-model NAME` finds its own.
    """
    known = BY_MODEL.get(embedding_model, BUNDLED)
    return known if threshold is None else known.at(threshold)
