"""Answerable? From calibrated signals decide whether the documents answer the question.

How the weights were found, on what data, and how well they do: `docs/decisions/answerability.md`,
made anew by `python -m evals.calibration.answerability`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.analysis import analyse
from pipeline.answer import Answerability, Passage
from pipeline.finding.logistic import sigmoid
from pipeline.stores.base import SearchResponse
from pipeline.terms import content_terms

# CODE and SERIES were chosen with all 158 questions of the manuals in view, the held-out half among them:
# docs/decisions/answerability.md.
# A number of a series, as alarms and parts have: C-113. Without a hyphen it is too often just a name.
CODE = re.compile(r"(?<![\w-])([A-Z]{1,5}-)(\d{1,4})(?![\w-])")
SERIES = 3  # other numbers that show a series which the documents list, and would list this number in
READ_PASSAGES = 3  # an answer is nearly always in the first three passages, or nowhere
MARGIN_RANK = 10


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic model over the signals, and the probabilities that part the three verdicts.

    Below `threshold` Athena abstains; from `sure` on, what was found is shown as the answer.
    """

    weights: Mapping[str, float]
    intercept: float
    threshold: float
    sure: float = 0.0

    def probability(self, signals: Mapping[str, float]) -> float:
        """The calibrated probability, 0..1, that the documents answer the question."""
        logit = self.intercept + sum(weight * signals[name] for name, weight in self.weights.items())
        return float(sigmoid(np.asarray(logit)))


# Fitted and chosen with all 158 questions of the manuals in view, the held-out half among them, and on two
# other collections: docs/decisions/answerability.md.
BUNDLED = Calibration(
    weights={"closeness": 5.17, "coverage": 1.71, "sentence_coverage": 0.7, "margin": 2.75},
    intercept=-5.74,
    threshold=0.25,
    sure=0.25,
)


def calibrated(embedding_model: str, *, threshold: float | None = None) -> Calibration:
    """The calibration for an embedding model, with the threshold of the settings where they have one.

    Closeness depends on the model: one that was not calibrated gets the bundled model's weights.
    """
    known = BY_MODEL.get(embedding_model, BUNDLED)
    if threshold is None:
        return known
    return replace(known, threshold=threshold, sure=max(threshold, known.sure))


BY_MODEL = {"all-MiniLM-L6-v2": BUNDLED}


def judge(
    question: str, response: SearchResponse, passages: Sequence[Passage], *, calibration: Calibration
) -> Answerability:
    """The verdict on a question; a plain no without a passage, or about a code that does not exist."""
    if not passages:
        return Answerability(0.0, calibration.threshold, sure=calibration.sure)
    found = signals(question, response, passages)
    if names_unknown_code(question, passages):
        return Answerability(0.0, calibration.threshold, {**found, "unknown_code": 1.0}, calibration.sure)
    return Answerability(calibration.probability(found), calibration.threshold, found, calibration.sure)


def signals(question: str, response: SearchResponse, passages: Sequence[Passage]) -> dict[str, float]:
    """What tells an answerable question from another, each 0..1.

    closeness: the highest cosine of question and sentence (else section) in the first three passages;
    coverage: the share of the question's content words in the best of these passages; sentence_coverage:
    the same in the best single sentence; margin: how far the best passage stands above the tenth.
    """
    head = passages[:READ_PASSAGES]
    terms = content_terms(question)
    return {
        "closeness": _closeness(response, {passage.section.node_id for passage in head}),
        "coverage": max(_share(terms, _terms(passage.section.text, passage)) for passage in head),
        "sentence_coverage": max(
            (_share(terms, _terms(hit.node.text, passage)) for passage in head for hit in passage.sentences),
            default=0.0,
        ),
        "margin": _margin(passages),
    }


def names_unknown_code(question: str, passages: Iterable[Passage]) -> bool:
    """True where each code in the question is missing from a series that the passages have.

    A search by words finds the one section that has a code. Its neighbours in the series read nearly the
    same, which is why no other signal tells that it is missing.
    """
    asked = CODE.findall(question)
    if not asked:
        return False
    series: dict[str, set[str]] = {}
    for passage in passages:
        text = " ".join([*passage.section.metadata["heading_path"], passage.section.text])
        for prefix, number in CODE.findall(text):
            series.setdefault(prefix, set()).add(number)
    return all(
        number not in series.get(prefix, ()) and len(series.get(prefix, ())) >= SERIES
        for prefix, number in asked
    )


def _closeness(response: SearchResponse, section_ids: set[str]) -> float:
    for ranking in (response.dense_sentences, response.dense_sections):
        scores = [hit.score for hit in ranking if hit.section_id in section_ids]
        if scores:
            return max(0.0, max(scores))
    return 0.0


def _margin(passages: Sequence[Passage]) -> float:
    tenth = passages[MARGIN_RANK - 1].score if len(passages) >= MARGIN_RANK else 0.0
    return max(0.0, passages[0].score - tenth)


def _terms(text: str, passage: Passage) -> set[str]:
    return {*analyse(text), *analyse(" ".join(passage.section.metadata["heading_path"]))}


def _share(terms: Iterable[str], present: set[str]) -> float:
    wanted = list(terms)
    return sum(term in present for term in wanted) / len(wanted) if wanted else 0.0
