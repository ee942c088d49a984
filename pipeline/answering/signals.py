"""What tells a sentence that the passages bear out from one that they do not.

`docs/decisions/citation-verification.md` says what else was tried.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.answering.evidence import Evidence, Leaf
from pipeline.answering.facts import Facts, facts_of, missing_numbers, together
from pipeline.answering.opposites import inverted, opposites
from pipeline.stores.base import Vector
from pipeline.terms import content_terms

MOST_LEAVES = 3
WORTH_ADDING = 0.1  # share of the sentence's words, weighed, that a further leaf must add
TOPICAL = 0.55  # of the best leaf's score; a leaf of another topic lends no words
NEAR = 2  # leaves before and after the best one are of its topic
LENDING = 0.15  # share of the sentence's words, weighed, that a leaf must have to lend its numbers
LEAST_COVERED = 0.4  # a sentence with fewer of its words in the passages is likely of something else
LEAST_CLOSE = 0.55  # and so is one that is no closer than this to any leaf


@dataclass(frozen=True, slots=True)
class Signals:
    """What was measured of one sentence."""

    closeness: float  # the highest cosine of a leaf, 0..1
    coverage: float  # share of its words, weighed, in the leaves that it rests on
    leaves: tuple[Leaf, ...]  # that it rests on, best first
    numbers: tuple[str, ...] = ()  # that these lack, or have of something else
    names: tuple[str, ...] = ()  # ids and versions that these lack, commands that no passage has
    inverted: tuple[str, ...] = ()  # its "not", or theirs
    opposites: tuple[str, ...] = ()  # its words of which these have the opposite

    @property
    def values(self) -> dict[str, float]:
        """What the calibrated model weighs, each 0..1; more of it means less support."""
        return {
            "numbers": float(bool(self.numbers)),
            "names": float(bool(self.names)),
            "inverted": float(bool(self.inverted)),
            "opposites": float(bool(self.opposites)),
            "uncovered": max(0.0, 1 - self.coverage / LEAST_COVERED),
            "far": max(0.0, 1 - self.closeness / LEAST_CLOSE),
        }

    @property
    def missing(self) -> tuple[str, ...]:
        """What the passages do not say, in words."""
        return tuple(dict.fromkeys([*self.numbers, *self.names, *self.inverted, *self.opposites]))


def signals_of(sentence: str, vector: Vector, evidence: Evidence) -> Signals:
    """The signals of a sentence without its markers; `evidence` has a leaf at least."""
    terms = content_terms(sentence)
    closeness = evidence.closeness(vector)
    stated = facts_of(sentence)
    leaves = _resting_on(terms, closeness, evidence)
    leaves += _with_numbers(stated, leaves, terms, evidence)
    spans = [leaf.text for leaf in leaves]
    around = "\n".join(dict.fromkeys(leaf.headings for leaf in leaves))
    covered = frozenset().union(*(leaf.terms | leaf.above for leaf in leaves))
    return Signals(
        closeness=max(0.0, float(closeness.max())),
        coverage=evidence.share(covered.intersection(terms), terms),
        leaves=tuple(leaves),
        numbers=tuple(missing_numbers(stated, facts_of("\n".join([*spans, around])))),
        names=_missing_names(stated, [*spans, around], evidence),
        inverted=inverted(sentence, spans),
        opposites=tuple(opposites(sentence, spans[:1], elsewhere=(leaf.terms for leaf in evidence.leaves))),
    )


def leaf_scores(terms: Collection[str], closeness: NDArray[np.float32], evidence: Evidence) -> list[float]:
    """Each leaf's score: its cosine and the share of the sentence's words that it has."""
    return [
        float(near) + evidence.share(leaf.terms.intersection(terms), terms)
        for leaf, near in zip(evidence.leaves, closeness, strict=True)
    ]


def _resting_on(terms: Sequence[str], closeness: NDArray[np.float32], evidence: Evidence) -> list[Leaf]:
    """The best leaf, and those of its topic that add words to it."""
    scores = leaf_scores(terms, closeness, evidence)
    best = max(range(len(scores)), key=scores.__getitem__)
    first = evidence.leaves[best]
    topical = [
        leaf
        for index, (leaf, score) in enumerate(zip(evidence.leaves, scores, strict=True))
        if score >= TOPICAL * scores[best] or (abs(index - best) <= NEAR and leaf.number == first.number)
    ]
    chosen, open_terms = [first], set(terms) - first.terms - first.above
    while len(chosen) < MOST_LEAVES:
        added = {id(leaf): evidence.share(leaf.terms & open_terms, terms) for leaf in topical}
        leaf = max(topical, key=lambda leaf: added[id(leaf)])
        if added[id(leaf)] < WORTH_ADDING:
            break
        chosen.append(leaf)
        open_terms -= leaf.terms
    return chosen


def _with_numbers(
    stated: Facts, found: Sequence[Leaf], terms: Collection[str], evidence: Evidence
) -> list[Leaf]:
    """A leaf that has the numbers which the others lack, and others of the sentence's words."""
    given = facts_of("\n".join(leaf.text for leaf in found))
    lacking = len(missing_numbers(stated, given))
    if not lacking:
        return []
    words = {term for term in terms if not term[:1].isdigit()}
    best: tuple[tuple[int, float], Leaf] | None = None
    for leaf in evidence.leaves:
        facts = evidence.facts(leaf)
        shared = evidence.share(words & (leaf.terms | leaf.above), words)
        if leaf in found or not facts.quantities or shared < LENDING or not words & leaf.terms:
            continue
        left = len(missing_numbers(stated, together(given, facts)))
        if left < lacking and (best is None or (-left, shared) > best[0]):
            best = (-left, shared), leaf
    return [best[1]] if best else []


def _missing_names(stated: Facts, texts: Sequence[str], evidence: Evidence) -> tuple[str, ...]:
    flat = _flat(texts)
    return (
        *sorted(name.upper() for name in stated.identifiers if not _stands_in(name, flat)),
        *sorted(command for command in stated.commands if not _stands_in(command, _flat([evidence.text]))),
    )


def _stands_in(name: str, text: str) -> bool:
    """True where the text has the name by itself, not as part of another (P-1 in P-10)."""
    return bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def _flat(texts: Iterable[str]) -> str:
    return " ".join("\n".join(texts).casefold().split())
