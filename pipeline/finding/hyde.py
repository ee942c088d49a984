"""HyDE (Gao et al., 2022): search with a hypothetical answer beside the question."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pipeline.errors import ModelError
from pipeline.steps.records import STOPPED, HydeStep
from pipeline.steps.trace import RunningStep
from pipeline.stores.base import Vector

if TYPE_CHECKING:
    from pipeline.options import RetrievalOptions

MAX_HYPOTHESIS_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A hypothetical passage, what the model was asked for it, and the tokens that it counted."""

    text: str
    prompt: str = ""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None


class Hypothesize(Protocol):
    """Writes a hypothetical passage for a question; raises `ModelError`, ends early once stop is set."""

    def __call__(self, question: str, stop: threading.Event, /) -> Hypothesis:
        """Write it."""


def write(
    step: RunningStep[HydeStep],
    hypothesize: Hypothesize | None,
    options: RetrievalOptions,
    *,
    known: str | None,
    stop: threading.Event,
) -> str:
    """The hypothesis of a search; "" where there is none. One that is `known` is not written again."""
    hypothesis = ""
    if not options.hyde:
        step.skip("switched off")
    elif known is None and hypothesize is None:
        step.skip("no language model is connected")
    elif options.alpha == 0 and not options.hyde_lexical:
        step.skip("alpha is 0: no dense search needs it")
    elif known is not None:
        hypothesis = known
    elif stop.is_set():
        step.skip(STOPPED)
    elif hypothesize is not None:
        hypothesis = _written(step, hypothesize, stop)
    step.record = replace(step.record, hypothesis=hypothesis)
    return hypothesis


def _written(step: RunningStep[HydeStep], hypothesize: Hypothesize, stop: threading.Event) -> str:
    """A new hypothesis, or "" where the model fails: the search goes on without it, and says so."""
    try:
        written = hypothesize(step.record.question, stop)
    except ModelError as error:
        step.fail(str(error))
        return ""
    hypothesis = tidy(written.text)
    step.record = replace(
        step.record,
        prompt=written.prompt,
        prompt_tokens=written.prompt_tokens,
        answer_tokens=written.answer_tokens,
    )
    if stop.is_set():  # half a hypothesis finds something else
        step.skip(STOPPED)
        return ""
    if not hypothesis:
        step.fail("the model wrote nothing")
    return hypothesis


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
