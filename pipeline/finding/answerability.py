"""Answerable? One of three verdicts, from calibrated signals.

The weights are in `pipeline/finding/verdict_weights.py`; how they were found, on what data, and how
well they do, in `docs/decisions/answerability.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pipeline.analysis import analyse, embedding_question
from pipeline.answer import Answerability, Passage
from pipeline.finding.entries import has_entry
from pipeline.finding.verdict_signals import READ_PASSAGES, IndexFacts, signals
from pipeline.finding.verdict_weights import Calibration
from pipeline.models.base import Encoder
from pipeline.stores.base import SearchResponse, SentenceIndex
from pipeline.terms import content_terms, stop_terms

# CODE and SERIES were chosen with all 158 questions of the manuals in view, the held-out half among them:
# docs/decisions/answerability.md.
# A number of a series, as alarms and parts have: C-113. Without a hyphen it is too often just a name.
CODE = re.compile(r"(?<![\w-])([A-Z]{1,5}-)(\d{1,4})(?![\w-])")
BARE_CODE = re.compile(r"(?<![\w-])([A-Z]{1,3}\d{3,5})(?![\w-])|(?i:\b(?:code|alarm|error)\s+#?(\d{2,5})\b)")
MOST_STRAY_WORDS = 4  # are left out in turn, the first ones: each is a text to embed
SEVERAL = 2  # words that no document has: one may be a paraphrase
SERIES = 3  # other numbers that show a series which the documents list, and would list this number in


def judge(
    question: str,
    response: SearchResponse,
    passages: Sequence[Passage],
    *,
    index: IndexFacts,
    calibration: Calibration,
) -> Answerability:
    """The verdict on a question; a plain no without a passage; about a code that is missing, the closest."""
    threshold, sure = calibration.threshold, calibration.sure
    if not passages:
        return Answerability(0.0, threshold, sure=sure)
    found = signals(question, response, passages, index)
    probability = calibration.probability(found)
    if names_unknown_code(question, passages):
        found |= {"unknown_code": 1.0}
        probability = min(probability, _closest(calibration))
    elif mostly_unknown(question, index):
        found |= {"mostly_unknown": 1.0}
        probability = min(probability, _closest(calibration))
    elif has_entry(question, passages[0]):
        found |= {"entry": 1.0}
        probability = 1.0
    elif found["coverage"] == 1.0 and names_heading(question, passages[0]):
        found |= {"named_heading": 1.0}
        probability = max(probability, sure)
    return Answerability(probability, threshold, found, sure)


def doubted(verdict: Answerability, stray: float, *, calibration: Calibration) -> Answerability:
    """The verdict, the closest at best where a question is much nearer without one of its words."""
    probability = verdict.probability
    if stray > calibration.stray:
        probability = min(probability, _closest(calibration))
    return replace(verdict, probability=probability, signals={**verdict.signals, "stray_word": stray})


def _closest(calibration: Calibration) -> float:
    """A probability that is shown as the closest, and no answer."""
    return max(calibration.threshold, (calibration.threshold + calibration.sure) / 2)


def mostly_unknown(question: str, index: IndexFacts) -> bool:
    """True where several words of the question, and half of them or more, are in no document.

    "How do I bake sourdough bread?" is near to a procedure that bakes something else.
    """
    terms = [term for term in content_terms(question) if term not in stop_terms()]
    return len(index.unknown) >= SEVERAL and 2 * len(index.unknown) >= len(terms)


def names_unknown_code(question: str, passages: Sequence[Passage]) -> bool:
    """True where each code in the question is missing from a series that the passages have, or from them all.

    The second is for codes without a hyphen (E0382) and numbers that are called a code ("alarm 1202"): a
    search by words would have found the one section that has such a rare word.

    A search by words finds the one section that has a code. Its neighbours in the series read nearly the
    same, which is why no other signal tells that it is missing.
    """
    bare = [code or number for code, number in BARE_CODE.findall(question)]
    if bare and not any(_has_bare(_whole_text(passage), code) for passage in passages for code in bare):
        return True
    asked = [
        (prefix, number)
        for prefix, number in CODE.findall(question)
        if not _ends_id(prefix + number, passages)
    ]
    if not asked:
        return False
    series: dict[str, set[str]] = {}
    for passage in passages:
        text = _whole_text(passage)
        for prefix, number in CODE.findall(text):
            series.setdefault(prefix, set()).add(number)
    return all(
        number not in series.get(prefix, ()) and len(series.get(prefix, ())) >= SERIES
        for prefix, number in asked
    )


def _ends_id(code: str, passages: Sequence[Passage]) -> bool:
    """Whether it is what a longer id ends with, as SBT-1 is of COM-SBT-1."""
    return any(re.search(rf"-{re.escape(code)}(?![\w-])", _whole_text(passage)) for passage in passages)


def names_heading(question: str, passage: Passage) -> bool:
    """True where a code of the question stands in the passage's heading: that is the section about it.

    The analyser knows `W202`, `w-202` and `W 202` for `W-202`.
    """
    headings = passage.section.metadata["heading_path"]
    own = {match.group().lower() for match in CODE.finditer(headings[-1])} if headings else set()
    return not own.isdisjoint(analyse(question))


def _has_bare(text: str, code: str) -> bool:
    """Whether a text has a code as it is, or with the hyphen that a series writes before its number."""
    letters = code.rstrip("0123456789")
    return bool(re.search(rf"\b{letters}-?{code[len(letters) :]}\b", text))


def _whole_text(passage: Passage) -> str:
    return " ".join([*passage.section.metadata["heading_path"], passage.section.text])


def stray_word(
    question: str,
    unknown: Iterable[str],
    passages: Sequence[Passage],
    *,
    sentences: SentenceIndex,
    encoder: Encoder,
) -> float:
    """How much nearer the nearest found sentence of the first passages is without one of the `unknown` terms.

    That is a difference of cosines, of the term that makes the most of it; 0 at least, and where there is
    nothing to compare. A paraphrase has words that the documents lack, too, but they point to what is meant
    ("dead" for "lost"): without one, the question comes no nearer to the passages. "Who manufactured the fuel
    cells" does, without "manufactured". Raises `StoreError` and `ModelError`.
    """
    shorter = without_each(question, unknown)[:MOST_STRAY_WORDS]
    found = [hit.node.node_id for passage in passages[:READ_PASSAGES] for hit in passage.sentences]
    near = list(sentences.vectors(found).values()) if shorter and found else []
    if not near:
        return 0.0
    whole, *others = encoder.encode_passages([embedding_question(text) for text in (question, *shorter)])
    nearest = max(float(vector @ whole) for vector in near)
    return max(0.0, *(float(vector @ other) - nearest for vector in near for other in others))


def without_each(question: str, terms: Iterable[str]) -> list[str]:
    """The question without each of these terms in its turn, in the question's order."""
    wanted = frozenset(terms)
    words = [(word, wanted.intersection(analyse(word))) for word in question.split()]
    left_out = dict.fromkeys(term for _, own in words for term in sorted(own))
    shorter = (" ".join(word for word, own in words if term not in own) for term in left_out)
    return [text for text in shorter if text]
