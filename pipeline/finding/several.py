"""A message that asks several things: its searches become one retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest

from pipeline.answer import Retrieval


def merge_retrievals(found: Sequence[Retrieval], question: str, *, top_k: int) -> Retrieval:
    """Merge searches rank by rank, each section once, at most `top_k` passages; the surest verdict holds."""
    if len(found) == 1:
        return found[0]
    ranked = chain.from_iterable(zip_longest(*(one.passages for one in found)))
    passages = {passage.section.node_id: passage for passage in ranked if passage is not None}
    surest = max((one.answerability for one in found), key=lambda verdict: verdict.probability)
    steps = tuple(step for one in found for step in one.steps)
    return Retrieval(question, tuple(passages.values())[:top_k], surest, steps)
