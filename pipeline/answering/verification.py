"""Verification: do the passages that the model was given say what a sentence of its answer says?

`docs/decisions/citation-verification.md` says what was measured; `python -m evals.calibration.verification`
fits the weights again, `athena eval support evals/data/support/test.jsonl` measures them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.answer import Support
from pipeline.answering.citations import Piece, without_markers
from pipeline.answering.evidence import Evidence, Leaf
from pipeline.answering.recent_vectors import passage_vectors
from pipeline.answering.signals import signals_of
from pipeline.finding.logistic import sigmoid
from pipeline.models.base import Encoder

# Fitted and chosen on the development half of the labelled sentences and on three other collections:
# docs/decisions/citation-verification.md.
WEIGHTS = {
    "numbers": -4.6,
    "names": -5.0,
    "inverted": -3.9,
    "opposites": -2.6,
    "uncovered": -3.2,
    "far": -2.8,
}
INTERCEPT = 1.7
THRESHOLD = 0.65
# Sentences that say nothing about the documents: they need no support.
UNSTATED = re.compile(
    r"^\W*(here (is|are)|the following|follow these|in summary|to summari[sz]e|let me know|please|"
    r"if you (need|have|want)|i (do not|don't|cannot|could not)|"
    r"the (documents|manuals|sources|documentation) (do|does) not)",
    re.IGNORECASE,
)
FEWEST_WORDS = 4  # a shorter line is a label, not a statement
ENDED = re.compile(r"[.!?:|][\"'”’)*_`\]]*$|```$|~~~$")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether passages bear out one sentence, and what of them it rests on."""

    supported: bool
    score: float  # 0..1
    coverage: float = 0.0  # share of its words, weighed, that the leaves have
    leaves: tuple[Leaf, ...] = ()  # best first
    missing: tuple[str, ...] = ()


class Judge:
    """Judges sentences by all the leaves of the passages that the model was given; each sentence once."""

    def __init__(self, evidence: Evidence, *, encoder: Encoder) -> None:
        self.evidence = evidence
        self._encoder = encoder
        self._known: dict[tuple[str, int | None], Judgement] = {}
        self._parts: dict[int, Evidence] = {}

    def prepare(self, sentences: Sequence[str]) -> None:
        """Embed sentences in one call: texts of one length, and one request to a server."""
        passage_vectors(sentences, encoder=self._encoder)

    def __call__(self, sentence: str, *, number: int | None = None) -> Judgement:
        """The judgement on a sentence without its markers, by one passage alone where its number is given."""
        key = sentence, number
        if key not in self._known:
            self._known[key] = self._judged(sentence, self.evidence if number is None else self.part(number))
        return self._known[key]

    def part(self, number: int) -> Evidence:
        """The leaves of one passage."""
        if number not in self._parts:
            self._parts[number] = self.evidence.of(number)
        return self._parts[number]

    def _judged(self, sentence: str, evidence: Evidence) -> Judgement:
        if not evidence.leaves:
            return Judgement(supported=False, score=0.0)
        (vector,) = passage_vectors([sentence], encoder=self._encoder)
        signals = signals_of(sentence, vector, evidence)
        score = support_score(signals.values)
        return Judgement(score >= THRESHOLD, score, signals.coverage, signals.leaves, signals.missing)


def support_score(values: Mapping[str, float]) -> float:
    """The calibrated probability, 0..1, that a sentence with these signals is supported."""
    logit = INTERCEPT + sum(weight * values[name] for name, weight in WEIGHTS.items())
    return float(sigmoid(np.asarray(logit)))


def verify(text: str, pieces: Sequence[Piece], judge: Judge, *, cut_off: bool = False) -> tuple[Support, ...]:
    """Check every sentence of an answer that states something, whether or not it has a marker.

    Where the answer was cut off, its last sentence is left out unless it had come to its end.
    """
    whole = pieces[:-1] if cut_off and pieces and not _has_ended(text, pieces[-1]) else pieces
    return tuple(
        _support(piece, judge(plain_sentence(text, piece)))
        for piece in whole
        if piece.numbers or states_something(text[piece.start : piece.end])
    )


def plain_sentence(text: str, piece: Piece) -> str:
    """A sentence of an answer as it reads without its markers."""
    return without_markers(text[piece.start : piece.end])


def states_something(sentence: str) -> bool:
    """False for headings, questions, labels, code and phrases that only introduce."""
    plain = without_markers(sentence).strip()
    if plain.endswith(("?", ":")) or plain.startswith(("#", "```", "~~~", "|--", "---")):
        return False
    return len(plain.split()) >= FEWEST_WORDS and not UNSTATED.search(plain)


def _support(piece: Piece, judgement: Judgement) -> Support:
    missing = () if judgement.supported else judgement.missing
    return Support(piece.start, piece.end, piece.numbers, judgement.supported, judgement.score, missing)


def _has_ended(text: str, piece: Piece) -> bool:
    return bool(ENDED.search(plain_sentence(text, piece).rstrip()))
