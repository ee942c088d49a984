"""HyDE (Gao et al., 2022): search with a hypothetical answer beside the question."""

from __future__ import annotations

import threading
from typing import Protocol

import numpy as np

from pipeline.stores.base import Vector

MAX_HYPOTHESIS_CHARACTERS = 2000


class Hypothesize(Protocol):
    """A question in, a hypothetical passage out; raises `ModelError`, and ends early once stop is set."""

    def __call__(self, question: str, stop: threading.Event, /) -> str:
        """Write it."""


def combine(question: Vector, hypothesis: Vector) -> Vector:
    """The renormalised mean of question and hypothesis embeddings, shape (dimensions,), unit length.

    LlamaIndex's HyDEQueryTransform averages without renormalising and embeds the hypothesis as a query;
    here the hypothesis is embedded as a passage, which is what it imitates. Opposite vectors have no mean
    direction: then the question stands alone.
    """
    mean = question + hypothesis
    length = float(np.linalg.norm(mean))
    if length < 1e-6:
        return question
    return np.asarray(mean / length, dtype=np.float32)


def tidy(hypothesis: str) -> str:
    """The hypothesis without surrounding white space, cut to a passage's length."""
    return hypothesis.strip()[:MAX_HYPOTHESIS_CHARACTERS]
