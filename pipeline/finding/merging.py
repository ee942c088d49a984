"""Auto-merge: where enough was found of a section, it replaces its sentences; of a parent, its sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.answer import Passage
from pipeline.finding.tree import Branch, Path, Trees, heading_path, standing_for

MIN_CHILDREN = 2  # a section of one sentence gains nothing, and one hit of two says little

MOST_WORDS = 400
"""Of a parent: a procedure of the manuals has up to 390, their chapters 1,000 and more. A parent of 600 words
put no more answers into the first passages, one of 250 fewer: docs/decisions/section-tree.md."""


def is_merged(found: int, siblings: int, *, threshold: float) -> bool:
    """Whether a section replaces the sentences that were found of it, out of so many siblings.

    Unlike LlamaIndex's AutoMergingRetriever a ratio that equals the threshold merges, at least two sentences
    must be found, and the merged section keeps its own fused score instead of the mean of its children's.
    """
    return found >= MIN_CHILDREN and found >= threshold * siblings


def merge_up(passages: Sequence[Passage], *, trees: Trees, within: int, ratio: float) -> list[Passage]:
    """The passages, with a parent in the place of its best section where enough of its sections were found.

    Those among the first `within` count; the rest of a parent's go with it. From the deepest headings
    upwards, so that what has been merged counts as one for the next level. A parent that is longer
    than `MOST_WORDS` is not merged. A document that has vanished since (another process deleted it) is
    left as it was found. Sections without a common heading have no parent.
    """
    merged = list(passages)
    for depth in range(_deepest(merged[:within]), 0, -1):
        for branch in _parents(merged[:within], depth, trees):
            merged = _merged(merged, branch, within=within, ratio=ratio)
    return merged


def _parents(passages: Sequence[Passage], depth: int, trees: Trees) -> list[Branch]:
    """The branches at a depth that two of the passages are directly in."""
    shared = _shared_paths(passages, depth)
    found: dict[tuple[str, int], Branch] = {}
    for passage in passages:
        place = passage.section.metadata["source"], heading_path(passage)[:depth]
        if place in shared and len(heading_path(passage)) <= depth + 1:
            branch = trees.branch_of(passage, place[1])
            if branch:
                found[place[0], branch.first] = branch
    return list(found.values())


def _deepest(passages: Sequence[Passage]) -> int:
    return max((len(heading_path(passage)) for passage in passages), default=-1)


def _shared_paths(passages: Sequence[Passage], depth: int) -> set[tuple[str, Path]]:
    """The headings at a depth, each with its source, that two of the passages stand directly under, or at."""
    found: Counter[tuple[str, Path]] = Counter()
    for passage in passages:
        path = heading_path(passage)
        if depth <= len(path) <= depth + 1:
            found[passage.section.metadata["source"], path[:depth]] += 1
    return {place for place, times in found.items() if times >= MIN_CHILDREN}


def _merged(passages: list[Passage], branch: Branch, *, within: int, ratio: float) -> list[Passage]:
    """The passages with the branch in the place of its own, where enough of its children were found."""
    ids = {*branch.section_ids}
    inside = [passage for passage in passages if ids.issuperset(passage.section_ids)]
    depth = len(branch.path) + 1
    direct = [p for p in passages[:within] if len(heading_path(p)) <= depth]
    found = {section_id for passage in direct for section_id in passage.section_ids}
    children = branch.children
    counted = sum(not child.isdisjoint(found) for child in children)
    if not is_merged(counted, len(children), threshold=ratio) or branch.words > MOST_WORDS:
        return passages
    parent, place = standing_for(branch, inside), passages.index(inside[0])
    others = [passage for passage in passages[place:] if passage not in inside]
    return [*passages[:place], parent, *others]
