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
from pipeline.answering.section_blocks import introduces, is_label, says_something
from pipeline.asking.kinds import Asked, asked_for
from pipeline.nodes import Node
from pipeline.stores.base import Vector
from pipeline.terms import content_terms, leaf_terms

Floats = NDArray[np.float64]
Terms = frozenset[str]

WEIGHTS: Mapping[str, float] = {
    "closeness": 2.01,
    "near": 1.38,
    "section_closeness": 1.87,
    "rank": 0.657,
    "coverage": 1.09,
    "coverage_near": 0.565,
    "coverage_section": 0.314,
    "ids": 0.289,
    "passage": 1.93,
    "fused": 1.87,
    "found": 0.227,
    "length": 0.347,
    "short": -0.274,
    "row": -0.49,
    "header_row": -0.457,
    "code": -0.366,
    "markup": -0.209,
    "introduces": -0.291,
    "label": -0.609,
    "question": -0.542,
    "number": 0.482,
    "duration": 1.53,
    "reason": 0.712,
    "action": 0.0738,
    "command": 0.758,
    "fix": 0.222,
    "theory": -1.13,
    "definition": 2.0,  # by hand: six questions of all ask for a definition, which is too few to learn from
}
LONGEST = 60  # words: a longer leaf is no likelier to answer
SHORT = 5  # words
RANKS = 5  # a leaf that so many of its section are closer than has half the signal
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
        _closeness_signals(candidates, closeness),
        _coverage_signals(question, candidates),
        _search_signals(candidates),
        _form_signals(candidates),
        _fit_signals(question, candidates),
    )
    return np.column_stack(parts)


CLOSENESS = ("closeness", "near", "section_closeness", "rank")
COVERAGE = ("coverage", "coverage_near", "coverage_section", "ids")
SEARCH = ("passage", "fused", "found")
FORM = (
    "length", "short", "row", "header_row", "code", "markup", "introduces", "label", "question",
)  # fmt: skip
FIT = ("number", "duration", "reason", "action", "command", "fix", "theory", "definition")
SIGNALS = (*CLOSENESS, *COVERAGE, *SEARCH, *FORM, *FIT)
"""Names of the signals, in the order of `leaf_signals`' columns."""


def _closeness_signals(candidates: Sequence[Candidate], closeness: Floats) -> Floats:
    """Cosine of question and leaf, the better one of its neighbours', the best of its section, and its rank.

    The rank among its section's leaves is 1 for the closest and falls to 0.
    """
    sections = np.array([item.section for item in candidates])
    rows = np.empty((len(candidates), len(CLOSENESS)))
    rows[:, 0] = closeness
    for section in np.unique(sections):
        (members,) = np.nonzero(sections == section)
        own = closeness[members]
        around = np.concatenate([[-np.inf], own, [-np.inf]])
        near = np.maximum(around[:-2], around[2:])
        rows[members, 1] = np.where(np.isfinite(near), near, own)
        rows[members, 2] = own.max()
        rows[members, 3] = 1 / (1 + (own[None, :] > own[:, None]).sum(axis=1) / RANKS)
    return rows


def _coverage_signals(question: str, candidates: Sequence[Candidate]) -> Floats:
    """The weighted share of the question's terms in the leaf, around it and in its section.

    A term weighs the more, the fewer of the leaves have it. Around the leaf and in its section the heading
    path counts, too. Last, the plain share of the question's ids and numbers in the leaf.
    """
    terms = content_terms(question)
    wanted = frozenset(terms)
    words = [wanted & leaf_terms(item.leaf) for item in candidates]
    weights = _term_weights(terms, words)
    ids = {term: 1.0 for term in terms if any(character.isdigit() for character in term)}
    known: dict[tuple[str, ...], Terms] = {}
    paths = [_path_terms(tuple(item.leaf.metadata["heading_path"]), wanted, known) for item in candidates]
    sections: dict[int, set[str]] = {}
    for item, present, path in zip(candidates, words, paths, strict=True):
        sections.setdefault(item.section, set()).update(present, path)
    rows = []
    for index, (item, present) in enumerate(zip(candidates, words, strict=True)):
        near = present.union(paths[index], *(words[other] for other in _neighbours(candidates, index)))
        shares = [_share(weights, having) for having in (present, near, sections[item.section])]
        rows.append([*shares, _share(ids, present)])
    return np.array(rows)


def _path_terms(path: tuple[str, ...], wanted: Terms, known: dict[tuple[str, ...], Terms]) -> Terms:
    """Those of the wanted terms that a heading path has."""
    if path not in known:
        known[path] = wanted.intersection(analyse(" ".join(path)))
    return known[path]


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
    """The passage's score and the leaf's fused one, each as a share of the best, and whether it has one."""
    fused = {hit.node.node_id: hit.score for item in candidates for hit in item.passage.sentences}
    best_fused = max(fused.values(), default=0.0) or 1.0
    best = max(item.score for item in candidates) or 1.0
    return np.array(
        [
            (
                item.score / best,
                fused.get(item.leaf.node_id, 0.0) / best_fused,
                float(item.leaf.node_id in fused),
            )
            for item in candidates
        ]
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
                kind == "table_row",
                kind == "table_row" and "header" not in leaf.metadata,
                kind == "code",
                kind == "html" or not says_something(leaf),
                introduces(leaf),
                is_label(leaf),
                leaf.text.rstrip("*_ \n").endswith("?"),
            )
        )
    return np.array(rows, dtype=np.float64)


def _fit_signals(question: str, candidates: Sequence[Candidate]) -> Floats:
    """Whether the leaf has what is asked for."""
    asked, terms = asked_for(question), frozenset(content_terms(question))
    rows = []
    for leaf in (item.leaf for item in candidates):
        kind, text = leaf.metadata["kind"], leaf.text
        heading = "".join(leaf.metadata["heading_path"][-1:])
        rows.append(
            (
                *(asked in kinds and bool(has(text)) for kinds, has in FITS_OF_TEXTS),
                asked is Asked.HOW_TO and (kind == "code" or "`" in text),
                *(asked in kinds and bool(has(heading)) for kinds, has in FITS_OF_HEADINGS),
                defines(text, asked, terms),
            )
        )
    return np.array(rows, dtype=np.float64)


def _neighbours(candidates: Sequence[Candidate], index: int) -> list[int]:
    """The leaves before and after, where they are of the same section."""
    return [
        other
        for other in (index - 1, index + 1)
        if 0 <= other < len(candidates) and candidates[other].section == candidates[index].section
    ]


NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|half|zero)\b", re.IGNORECASE
)
DURATION = re.compile(
    r"\d[\d.,]*\s*(?:s|ms|min|h|d|weeks?|months?|years?)\b|\b(?:second|minute|hour|day)s?\b", re.IGNORECASE
)
REASON = re.compile(
    r"\b(?:because|since|cause[sd]?|reasons?|so that|due to|as a result|therefore|otherwise|why|in order to"
    r"|to avoid|prevents?|means that|leads? to)\b",
    re.IGNORECASE,
)
ACTION = re.compile(
    r"[\s*_`\d.)-]*(?:`|(?:if [^,]{1,60}, )?(?:then )?(?:add|adjust|apply|ask|attach|call|change|check|choose"
    r"|clear|click|close|compare|configure|connect|copy|create|declare|define|delete|disable|do|download"
    r"|enable|enter|find|follow|give|go|hold|import|install|keep|leave|let|load|look|lower|make|move|never"
    r"|note|open|point|power|press|put|raise|read|reduce|remove|repeat|replace|report|reset|restart|restore"
    r"|return|run|select|send|set|show|shut|specify|start|stop|switch|take|tell|test|try|turn|type|update"
    r"|use|wait|watch|wear|write)\b)",
    re.IGNORECASE,
)
DEFINING = re.compile(
    r"\b(?:is|are|means|refers to|stands for|consists of|describes|defines|denotes)\b", re.IGNORECASE
)
FIX = re.compile(
    r"\b(?:fix\w*|procedure|what to do|steps|how to|actions?|recover\w*|repair\w*|restor\w*|remed\w*|solution"
    r"|resolution|troubleshoot\w*|using|creating|adding|setting|configur\w*|install\w*|enabl\w*|running)\b",
    re.IGNORECASE,
)
THEORY = re.compile(
    r"\b(?:theory|background|why|history|example|verification|overview|symptoms?|notes?|see also|related"
    r"|summary|introduction)\b",
    re.IGNORECASE,
)

TROUBLE = re.compile(
    r"\b(?:dead|lost|broken?|stop(?:s|ped)?|fail(?:s|ed|ure)?|gone|dark|error|alarm|warning|stuck|leak\w*"
    r"|won'?t|can'?t|cannot|doesn'?t|not work\w*|offline|wrong|refus\w*|reject\w*|crash\w*|hurts?"
    r"|smell\w*|smoke|fire|burn\w*|losing|dropp\w*|falling|rising|freezing|overheat\w*|frozen|dying|headache"
    r"|dizzy|beep\w*|flash\w*|emergency|help|too? (?:hot|cold|warm|high|low|loud)|empty)\b",
    re.IGNORECASE,
)
FITS_OF_TEXTS = (
    ((Asked.HOW_MANY, Asked.HOW_LONG), NUMBER.search),
    ((Asked.HOW_LONG,), DURATION.search),
    ((Asked.WHY,), REASON.search),
    ((Asked.HOW_TO,), ACTION.match),  # an order at its beginning
)
"""Which questions ask for what a text may have, in the order of `FIT`."""
FITS_OF_HEADINGS = (((Asked.HOW_TO,), FIX.search), ((Asked.HOW_TO,), THEORY.search))
ARTICLE = re.compile(r"\A\W*(?:an?|the)\b", re.IGNORECASE)
SUBJECT_WORDS = 6  # a longer subject is not the name of a thing
MOST_OF_IT = 0.5


def wants_fix(question: str, asked: Asked) -> bool:
    """What to do is asked, or something is reported that is wrong, without a question."""
    return asked is Asked.HOW_TO or (asked is Asked.OTHER and bool(TROUBLE.search(question)))


def defines(text: str, asked: Asked, terms: frozenset[str]) -> float:
    """The share of the question's terms in a short subject before "is" or "means", for a definition.

    Nothing below a half: "the alarm" is not what C-112 means. One more where the subject is nothing else.
    """
    found = DEFINING.search(text) if asked is Asked.DEFINE else None
    if not found or not terms or len(text[: found.start()].split()) > SUBJECT_WORDS:
        return 0.0
    subject = set(analyse(ARTICLE.sub("", text[: found.start()])))
    share = len(terms & subject) / len(terms)
    return share + (subject == terms) if share >= MOST_OF_IT else 0.0
