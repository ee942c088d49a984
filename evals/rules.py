"""Is an answer right? By rule, from its passages and a reference answer, without a language model.

It is accepted where all that it states is supported by the passages, and it says what the reference says: its
numbers, its ids and commands, and enough of its words. Where the documents do not answer,
only an abstention is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pipeline.answering.citations import sentences_of
from pipeline.answering.literals import literals_of, missing_numbers
from pipeline.answering.verification import Judge, plain_sentence, states_something
from pipeline.models.embedding import OnnxEncoder
from pipeline.terms import content_terms, share, text_terms

SAID = 0.5  # of the reference's content terms; chosen on `evals/data/judge/dev.jsonl`
CAN_SEE = (
    "Rules see numbers, ids, commands and words. They cannot see that a sentence of the right words "
    "says something else, that other words say the same, or that an answer is badly put."
)
ABSTAINS = re.compile(
    r"\b(do(es)?|did|could|can|is|are|was|were)\s?(not|n't)\b.{0,40}\b(answer|say|state|contain|give|mention|"
    r"name|find|found|tell|cover|document)|"
    r"\bsays? nothing\b|\bno(thing| \w+)\b.{0,60}\b(given|stated|named|found)\b|"
    r"\bnot (answered |given |stated )?(in|by) the (documents|manuals|sources|passages)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether an answer is accepted; if not, why."""

    accepted: bool
    reason: str = ""


KEPT_VECTORS = 10_000  # of answers and references, which many runs have in common


class Similarity:
    """Cosines by the bundled MiniLM, whatever model the index has."""

    def __init__(self) -> None:
        self._vector = lru_cache(KEPT_VECTORS)(OnnxEncoder().encode_query)

    def __call__(self, reference: str, text: str) -> float:
        """The cosine of a reference answer and a text, not below 0; 0 for no text."""
        if not text.strip():
            return 0.0
        # One by one: in other company they could differ in the last digits.
        cosine = np.dot(self._vector(reference), self._vector(text))
        return round(min(1.0, max(0.0, float(cosine))), 6)


def abstains(text: str) -> bool:
    """Whether all that a text states is that the documents do not say."""
    stated = [plain_sentence(text, piece) for piece in sentences_of(text)]
    return bool(stated) and all(ABSTAINS.search(sentence) for sentence in stated)


def rule_on(text: str, *, reference: str, judge: Judge, abstained: bool = False) -> Ruling:
    """The ruling on an answer; without a reference the documents do not answer."""
    abstained = abstained or abstains(text)
    if abstained or not reference:
        right = abstained and not reference
        return Ruling(right, "" if right else "abstained" if abstained else "should have abstained")
    for piece in sentences_of(text):
        sentence = plain_sentence(text, piece)
        if states_something(sentence) and not _supported(sentence, judge):
            return Ruling(False, f"not supported: {sentence.strip()}")
    if lacking := _lacking(text, reference):
        return Ruling(False, f"lacks {', '.join(lacking)}")
    said = share(content_terms(reference), text_terms(text))
    return Ruling(said >= SAID, "" if said >= SAID else f"says {said:.0%} of the reference")


def _supported(sentence: str, judge: Judge) -> bool:
    """By all passages together, or by one alone: two may say it one with a "not" and one without."""
    numbers = dict.fromkeys(leaf.number for leaf in judge.evidence.leaves)
    return judge(sentence).supported or any(judge(sentence, number=number).supported for number in numbers)


def _lacking(text: str, reference: str) -> list[str]:
    """What the reference states exactly and the text does not: numbers, ids, commands."""
    wanted, plain = literals_of(reference), " ".join(text.split()).casefold()
    names = [name for name in (*wanted.identifiers, *wanted.commands) if name not in plain]
    return [*missing_numbers(wanted, literals_of(text)), *sorted(names)]
