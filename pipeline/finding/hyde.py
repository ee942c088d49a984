"""HyDE (Gao et al., 2022): search with a hypothetical answer as well as with the question."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from pipeline.errors import ModelError
from pipeline.steps.records import STOPPED, Step
from pipeline.stores.base import Vector

MAX_HYPOTHESIS_CHARACTERS = 2000
Hypothesize = Callable[[str, threading.Event], str]
"""Writes a hypothetical passage for a question; raises `ModelError`, ends early once the event is set."""


def write_hypothesis(
    step: Step, question: str, hypothesize: Hypothesize | None, stop: threading.Event
) -> str:
    """Return a hypothesis for the question, at most 2,000 characters; "" if there is none.

    A model that fails fails the step alone: the search goes on without a hypothesis.
    """
    if hypothesize is None or stop.is_set():
        step.skip(STOPPED if hypothesize else "no language model is connected")
        return ""
    try:
        written = hypothesize(question, stop)
    except ModelError as error:
        step.fail(str(error))
        return ""
    if stop.is_set():  # half a hypothesis finds something else
        step.skip(STOPPED)
        return ""
    if not written.strip():
        step.fail("the model wrote nothing")
    return written.strip()[:MAX_HYPOTHESIS_CHARACTERS]


def combine(question: Vector, hypothesis: Vector) -> Vector:
    """The renormalised mean of both embeddings; the question's alone where they are opposite."""
    mean = question + hypothesis
    length = float(np.linalg.norm(mean))
    return question if length < 1e-6 else np.asarray(mean / length, dtype=np.float32)
