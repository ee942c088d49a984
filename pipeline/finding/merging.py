"""Auto-merge: where enough sentences of one section were found, the section replaces them."""

from __future__ import annotations

MIN_CHILDREN = 2  # a section of one sentence gains nothing, and one hit of two says little


def is_merged(found: int, siblings: int, *, threshold: float) -> bool:
    """Whether a section replaces the sentences that were found of it, out of so many siblings.

    Unlike LlamaIndex's AutoMergingRetriever a ratio that equals the threshold merges, at least two sentences
    must be found, and the merged section keeps its own fused score instead of the mean of its children's.
    """
    return found >= MIN_CHILDREN and found >= threshold * siblings
