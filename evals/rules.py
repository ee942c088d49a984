"""Check an answer against its reference by exact values and words, without a language model.

These rules cannot see that the right words say something else, or that other words say the same.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pipeline.answering.literals import literals_of, missing_numbers
from pipeline.models.embedding import OnnxEncoder
from pipeline.terms import content_terms, share, text_terms

SAID = 0.5  # of the reference's content terms; chosen on labelled answers, at commit 192aef21
KEPT_VECTORS = 10_000  # of answers and references, which many runs have in common


class Similarity:
    """Cosines by the bundled MiniLM, independent of the index's model."""

    def __init__(self) -> None:
        self._vector = lru_cache(KEPT_VECTORS)(OnnxEncoder().encode_query)

    def __call__(self, reference: str, text: str) -> float:
        """Return the cosine of a reference answer and a text, at least 0; 0 for an empty text."""
        if not text.strip():
            return 0.0
        cosine = np.dot(self._vector(reference), self._vector(text))
        return round(min(1.0, max(0.0, float(cosine))), 6)


def problem_of(text: str, reference: str) -> str:
    """Return what an answer lacks of its reference, exact values or enough of its words; "" = nothing."""
    if lacking := _lacking(text, reference):
        return f"lacks {', '.join(lacking)}"
    said = share(content_terms(reference), text_terms(text))
    return "" if said >= SAID else f"says {said:.0%} of the reference"


def _lacking(text: str, reference: str) -> list[str]:
    """Return the numbers, ids and commands of the reference that the text lacks."""
    wanted, plain = literals_of(reference), " ".join(text.split()).casefold()
    names = [name for name in (*wanted.identifiers, *wanted.commands) if name not in plain]
    return [*missing_numbers(wanted, literals_of(text)), *sorted(names)]
