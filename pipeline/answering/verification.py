"""Verification: do the passages that the model was given say what a sentence of its answer says?

`docs/decisions/citation-verification.md` says what was measured; `python -m evals.calibration.verification`
fits the weights again, `athena eval support evals/data/support/test.jsonl` measures them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.answer import Citation, Passage, Support
from pipeline.answering.citations import Piece, Place, cite, sentences_of, without_markers
from pipeline.answering.prompts import Source
from pipeline.answering.sentence_support import Evidence, Leaf, evidence_of, leaf_scores, signals_of
from pipeline.finding.verdict import sigmoid
from pipeline.models.base import Encoder, passage_vectors
from pipeline.stores.base import DocumentStore
from pipeline.terms import content_terms

# Fitted and chosen on the development half of the labelled sentences and on three other collections:
# docs/decisions/citation-verification.md.
WEIGHTS = {
    "numbers": -4.6,
    "names": -5.0,
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
EXACT = re.compile(r"(?<=\s)[A-Z][\w-]*|\S*\d\S*")  # names within a sentence, numbers
FROM_MEMORY = 0.6  # share of a sentence's words that what was recalled has
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


def verify(
    text: str,
    pieces: Sequence[Piece],
    judge: Judge,
    *,
    remembered: Sequence[str] = (),
    cut_off: bool = False,
) -> tuple[Support, ...]:
    """Check every sentence of an answer that states something, whether or not it has a marker.

    One without a marker that says what is `remembered` states nothing of documents: it is left out. Where
    the answer was cut off, so is its last sentence unless it had come to its end.
    """
    whole = pieces[:-1] if cut_off and pieces and not _has_ended(text, pieces[-1]) else pieces
    return tuple(
        _support(piece, judge(plain_sentence(text, piece)))
        for piece in whole
        if piece.numbers
        or (
            states_something(text[piece.start : piece.end])
            and not says_remembered(plain_sentence(text, piece), remembered)
        )
    )


def says_remembered(sentence: str, remembered: Sequence[str]) -> bool:
    """Whether a sentence says what was recalled: most of its words, and all of its names and numbers."""
    words = frozenset(content_terms(" ".join(remembered)))
    own = frozenset(content_terms(sentence))
    exact = frozenset(content_terms(" ".join(EXACT.findall(sentence))))
    return exact <= words and len(own & words) >= FROM_MEMORY * len(own) > 0


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


ENOUGH = 0.7  # a span with this share of the sentence's words needs no second one
WORTH_ADDING = 0.2  # share of the words that a second span must add
MOST_SPANS = 2
NEARLY = 0.85  # of what all passages have of a sentence's words: a passage with that supports it as well


class SentenceLocator:
    """Finds the leaves that a marker stands for.

    They are in the passage that the marker names, unless that does not bear the sentence out and another one
    does: then they are what the sentence rests on there.
    """

    def __init__(self, passages: Mapping[int, Passage], *, judge: Judge, encoder: Encoder) -> None:
        self._passages = passages
        self._judge = judge
        self._encoder = encoder

    def __call__(self, sentence: str, number: int) -> list[Place]:
        """The best leaf, and a second one where it adds words that the first lacks; in reading order."""
        leaves = self._leaves(sentence, number)
        return [Place(self._passages[leaf.number], leaf.node) for leaf in leaves]

    def _leaves(self, sentence: str, number: int) -> list[Leaf]:
        """Those of the passage that bears the sentence out: the one that is named, wherever it can be."""
        judgement = self._judge(sentence)
        if judgement.supported and not self._bears_out(sentence, number, judgement):
            number = judgement.leaves[0].number
        return self._best(sentence, number)

    def _bears_out(self, sentence: str, number: int, judgement: Judgement) -> bool:
        """True where the passage has a share in what the sentence rests on, or would do as well."""
        if number in {leaf.number for leaf in judgement.leaves}:
            return True
        alone = self._judge(sentence, number=number)
        return alone.supported and alone.coverage >= NEARLY * judgement.coverage

    def _best(self, sentence: str, number: int) -> list[Leaf]:
        evidence = self._judge.part(number)
        if not evidence.leaves:
            return []
        terms = set(content_terms(sentence))
        # Embedded as a passage: it is a statement, and verification compares it the same way.
        (vector,) = passage_vectors([sentence], encoder=self._encoder)
        scores = leaf_scores(terms, evidence.closeness(vector), evidence)
        ranked = [
            leaf for _, leaf in sorted(zip(scores, evidence.leaves, strict=True), key=lambda one: -one[0])
        ]
        chosen, covered = [ranked[0]], ranked[0].terms & terms
        for leaf in ranked[1:]:
            if len(chosen) == MOST_SPANS or len(covered) >= ENOUGH * len(terms):
                break
            added = leaf.terms & terms - covered
            if len(added) >= WORTH_ADDING * len(terms):
                chosen.append(leaf)
                covered |= added
        return sorted(chosen, key=lambda leaf: leaf.node.start_char_idx or 0)


@dataclass(frozen=True, slots=True)
class Checked:
    """The text with its final markers, what they cite, and whether that supports each sentence."""

    text: str
    citations: tuple[Citation, ...]
    support: tuple[Support, ...]


def check(
    text: str,
    sources: Sequence[Source],
    *,
    store: DocumentStore,
    encoder: Encoder,
    file_hashes: Mapping[str, str],
    remembered: Sequence[str] = (),
    cut_off: bool = False,
) -> Checked:
    """Resolve the markers of a text that was written from numbered sources, and check its sentences.

    Each sentence is checked by all of the sources, with or without a marker. A citation is verified unless
    each sentence that cites it lacks support. `cut_off`: the text may end within a sentence.
    """
    passages = {source.number: source.passage for source in sources}
    judge = Judge(evidence_of(passages, store=store), encoder=encoder)
    judge.prepare([plain_sentence(text, piece) for piece in sentences_of(text)])
    locate = SentenceLocator(passages, judge=judge, encoder=encoder)
    cited = cite(text, passages, locate=locate, file_hashes=file_hashes)
    support = verify(cited.text, cited.pieces, judge, remembered=remembered, cut_off=cut_off)
    failed = {marker for item in support if not item.supported for marker in item.markers}
    held = {marker for item in support if item.supported for marker in item.markers}
    citations = tuple(
        replace(citation, verified=citation.marker in held or citation.marker not in failed)
        for citation in cited.citations
    )
    return Checked(cited.text, citations, support)
