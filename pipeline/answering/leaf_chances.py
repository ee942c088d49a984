"""Which leaves answer: signals of each sentence, row, step and code block, weighed into one chance.

The weights were learned by `python -m evals.calibration.quotes`; docs/decisions/quoting.md says on what.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.analysis import analyse
from pipeline.answer import Passage
from pipeline.answering.section_blocks import form_of
from pipeline.asking.kinds import Asked, asked_for
from pipeline.finding.definitions import defines
from pipeline.finding.verdict_signals import COUNT
from pipeline.nodes import Node
from pipeline.stores.base import Vector
from pipeline.terms import content_terms, leaf_terms

Floats = NDArray[np.float64]
Terms = frozenset[str]

WEIGHTS: Mapping[str, float] = {
    "closeness": 2.3,
    "near": 1.3,
    "coverage": 1.35,
    "passage": 2.4,
    "fused": 2.2,
    "length": 0.46,
    "short": -0.35,
    "header_row": -0.67,
    "code": -0.49,
    "markup": -0.57,
    "definition": 2.0,  # this and the next by hand: too few questions ask so to learn them from
    "form": 2.0,
}
SIGNALS = tuple(WEIGHTS)
"""Names of the signals, in the order of `leaf_signals`' columns."""

LONGEST = 60  # words: a longer leaf is no likelier to answer
SHORT = 5  # words
LEAST_WEIGHT = 0.1  # of a term that nearly every leaf has


@dataclass(frozen=True, slots=True)
class Candidate:
    """A leaf that may answer, and the passage that it was found in."""

    leaf: Node
    passage: Passage
    section: int  # which section it is in: neighbours are of the same one

    @property
    def score(self) -> float:
        """That of its own section, also where a parent stands for it."""
        section = self.leaf.parent_node
        return self.passage.score_of(section.node_id) if section else self.passage.score


def chances(found: Floats, weights: Mapping[str, float] | None = None) -> Floats:
    """For each leaf the chance that it is the one that answers; they add up to 1. Shape (candidates,).

    `found` are the leaves' signals; the weights are the bundled ones where none are given.
    """
    weights = WEIGHTS if weights is None else weights
    logits = found @ np.array([weights[name] for name in SIGNALS])
    raised = np.exp(logits - logits.max())
    return np.asarray(raised / raised.sum())


def leaf_signals(
    question: str, candidates: Sequence[Candidate], vectors: Mapping[str, Vector], query: Vector
) -> Floats:
    """The signals of each leaf, shape (candidates, `SIGNALS`)."""
    closeness = np.array(
        [
            float(np.dot(vectors[item.leaf.node_id], query)) if item.leaf.node_id in vectors else 0.0
            for item in candidates
        ]
    )
    parts = (
        closeness,
        _near(candidates, closeness),
        _coverage(question, candidates),
        _search_signals(candidates),
        _form_signals(candidates),
        _definitions(question, candidates),
        _forms(question, candidates),
    )
    return np.column_stack(parts)


def _near(candidates: Sequence[Candidate], closeness: Floats) -> Floats:
    """The higher cosine of the leaves before and after in the same section; a leaf alone has its own."""
    sections = np.array([item.section for item in candidates])
    before, after = np.full((2, len(candidates)), -np.inf)
    same = sections[1:] == sections[:-1]
    before[1:] = np.where(same, closeness[:-1], -np.inf)
    after[:-1] = np.where(same, closeness[1:], -np.inf)
    near = np.maximum(before, after)
    return np.where(np.isfinite(near), near, closeness)


def _coverage(question: str, candidates: Sequence[Candidate]) -> Floats:
    """The share of the question's terms in the leaf; a term weighs the more, the fewer leaves have it."""
    terms = content_terms(question)
    wanted = frozenset(terms)
    words = [wanted & leaf_terms(item.leaf) for item in candidates]
    weights = _term_weights(terms, words)
    return np.array([_share(weights, present) for present in words])


def _term_weights(terms: Sequence[str], words: Sequence[Terms]) -> dict[str, float]:
    """Inverse document frequency over the leaves at hand; 0 for a term that none of them has."""
    having = Counter(term for present in words for term in present)
    return {
        term: max(LEAST_WEIGHT, math.log((len(words) + 1) / (having[term] + 0.5))) if having[term] else 0.0
        for term in terms
    }


def _share(weights: Mapping[str, float], present: Collection[str]) -> float:
    return sum(weights.get(term, 0.0) for term in present) / (sum(weights.values()) or 1.0)


def _search_signals(candidates: Sequence[Candidate]) -> Floats:
    """The passage's score and the leaf's fused one, each as a share of the best."""
    fused = {hit.node.node_id: hit.score for item in candidates for hit in item.passage.sentences}
    best_fused = max(fused.values(), default=0.0) or 1.0
    best = max(item.score for item in candidates) or 1.0
    return np.array(
        [(item.score / best, fused.get(item.leaf.node_id, 0.0) / best_fused) for item in candidates]
    )


def _form_signals(candidates: Sequence[Candidate]) -> Floats:
    """What sort of leaf it is."""
    rows = []
    for leaf in (item.leaf for item in candidates):
        kind, words = leaf.metadata["kind"], len(leaf.text.split())
        rows.append(
            (
                math.log1p(min(words, LONGEST)),
                words < SHORT,
                kind == "table_row" and "header" not in leaf.metadata,
                kind == "code",
                kind == "html" or not form_of(leaf).says,
            )
        )
    return np.array(rows, dtype=np.float64)


def _definitions(question: str, candidates: Sequence[Candidate]) -> Floats:
    """How well each leaf defines what the question asks for the meaning of."""
    if asked_for(question) is not Asked.DEFINE:
        return np.zeros(len(candidates))
    terms = frozenset(content_terms(question))
    return np.array([defines(item.leaf.text, terms) for item in candidates])


_HOW_MANY = re.compile(r"\bhow many ([^\W\d_]+)", re.IGNORECASE)
_COUNTED = re.compile(rf"{COUNT}[\d.,]{{0,20}}\s+(?=(?P<one>[\w-]+)(?:\s+(?P<two>[\w-]+))?)", re.IGNORECASE)
_PERSON = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+ [A-Z][a-z]+")


def _forms(question: str, candidates: Sequence[Candidate]) -> Floats:
    """1 for a leaf that has what was asked for: a number of these, or a person's name."""
    texts = [item.leaf.text for item in candidates]
    counted = _HOW_MANY.search(question)
    if counted:
        noun = set(analyse(counted[1]))
        found = [
            any(noun & set(analyse(f"{one['one']} {one['two'] or ''}")) for one in _COUNTED.finditer(text))
            for text in texts
        ]
    elif asked_for(question) is Asked.WHO:
        found = [bool(_PERSON.search(text)) for text in texts]
    else:
        found = [False] * len(texts)
    return np.array(found, dtype=np.float64)


ACTION = re.compile(
    r"(?!\W*\*\*[^*]+\*\*\s*:)"  # "**Load shedding**: …" is an entry of a glossary
    r"[\s*_`\d.)-]*(?:`|(?:if [^,]{1,60}, )?(?:then )?(?:add|adjust|apply|ask|attach|call|change|check|choose"
    r"|clear|click|close|compare|configure|connect|copy|create|declare|define|delete|disable|do|download"
    r"|enable|enter|find|follow|give|go|hold|import|install|keep|leave|let|load|look|lower|make|move|never"
    r"|note|open|point|power|press|put|raise|read|reduce|remove|repeat|replace|report|reset|restart|restore"
    r"|return|run|select|send|set|show|shut|specify|start|stop|switch|take|tell|test|try|turn|type|update"
    r"|use|wait|watch|wear|write)\b)",
    re.IGNORECASE,
)
FIX = re.compile(
    r"\b(?:fix\w*|procedure|what to do|steps|how to|actions?|recover\w*|repair\w*|restor\w*|remed\w*|solution"
    r"|resolution|troubleshoot\w*|using|creating|adding|setting|configur\w*|install\w*|enabl\w*|running)\b",
    re.IGNORECASE,
)
CAUSES = re.compile(r"\b(?:causes?|reasons?|symptoms?|signs)\b", re.IGNORECASE)
TROUBLE = re.compile(
    r"\b(?:dead|lost|broken?|stop(?:s|ped)?|fail(?:s|ed|ure)?|gone|dark|error|alarm|warning|stuck|leak\w*"
    r"|won'?t|can'?t|cannot|doesn'?t|not work\w*|offline|wrong|refus\w*|reject\w*|crash\w*|hurts?"
    r"|smell\w*|smoke|fire|burn\w*|losing|dropp\w*|falling|rising|freezing|overheat\w*|frozen|dying|headache"
    r"|dizzy|beep\w*|flash\w*|emergency|help|too? (?:hot|cold|warm|high|low|loud)|empty)\b",
    re.IGNORECASE,
)


def wants_fix(question: str, asked: Asked) -> bool:
    """What to do is asked, or something is reported that is wrong, without a question."""
    return asked is Asked.HOW_TO or (asked is Asked.OTHER and bool(TROUBLE.search(question)))
