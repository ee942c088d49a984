"""Auto-merge: where enough sentences of one section were found, the section replaces them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MIN_CHILDREN = 2  # a section of one sentence gains nothing, and one hit of two says little


@dataclass(frozen=True, slots=True)
class Merge:
    """One section: how many of its sentences were found, and whether that was enough."""

    section_id: str
    found: int
    siblings: int
    merged: bool


def merge_sections(
    found: Mapping[str, Iterable[str]], siblings: Mapping[str, int], *, simple_ratio_thresh: float
) -> dict[str, Merge]:
    """Decide for each section, by id, whether its found sentences are replaced by the whole of it.

    `found` are the ids of the found sentences, `siblings` how many each section has. Unlike LlamaIndex's
    AutoMergingRetriever a ratio that equals the threshold merges, at least two sentences must be found,
    and the merged section keeps its own fused score instead of the mean of its children's.
    """
    merges = {}
    for section_id, sentence_ids in found.items():
        count, total = len(set(sentence_ids)), siblings[section_id]
        merged = count >= MIN_CHILDREN and count >= simple_ratio_thresh * total
        merges[section_id] = Merge(section_id, count, total, merged)
    return merges
