"""Auto-merge: where enough was found of a section, it replaces its sentences; of a heading, its sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.answer import Passage
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node, StoredNode
from pipeline.steps.records import MergedUp, MergeUpStep
from pipeline.stores.base import SectionStore, StoredDocument

if TYPE_CHECKING:
    from pipeline.steps.trace import RunningStep

MIN_CHILDREN = 2  # a section of one sentence gains nothing, and one hit of two says little
MOST_WORDS = 400  # of a parent: procedures have up to 390, chapters 1,000 (docs/decisions/section-tree.md)


def is_merged(found: int, children: int, *, threshold: float) -> bool:
    """Whether a parent replaces its children: two at least were found, and the share `threshold` of them."""
    return found >= MIN_CHILDREN and found >= threshold * children


def merge_up(
    step: RunningStep[MergeUpStep], passages: list[Passage], sections: SectionStore
) -> list[Passage]:
    """The passages, with a heading's text in the place of its best section where enough of it was found.

    Of the sections directly under a heading, its own text among them, two and the share `ratio` must be among
    the first `within` passages; then all its passages are replaced. Deep headings come first, so that a
    merged one counts for the next. Longer ones than `MOST_WORDS`, and changed documents, stay as they are.
    """
    tried = set[str]()
    while parent := _next_parent(passages[: step.record.within], tried):
        tried.add(parent)
        found = [p.section for p in passages[: step.record.within] if _is_child(p.section, parent)]
        try:
            document = sections.document(found[0].metadata["source"])
        except UnknownDocument:
            continue
        family = _family(document, parent)
        children = sum(_is_child(section, parent) for section in family)
        if family and is_merged(len(found), children, threshold=step.record.ratio):
            passages = _replaced(passages, document, family, parent)
    parents = [passage for passage in passages if passage.members]
    step.set(parents=tuple(map(_record, parents)))
    return passages


def _next_parent(passages: Sequence[Passage], tried: set[str]) -> str:
    """The deepest heading that two passages are directly under, or are the text of; "" where none is left."""
    counts, depths = Counter[str](), dict[str, int]()
    for section in (passage.section for passage in passages):
        for above, heading in enumerate((section.node_id, section.metadata.get("parent", ""))):
            counts[heading] += heading not in tried
            depths[heading] = len(section.metadata["heading_path"]) - above
    shared = [heading for heading, count in counts.items() if heading and count >= MIN_CHILDREN]
    return max(shared, key=depths.__getitem__, default="")


def _record(parent: Passage) -> MergedUp:
    path, found = parent.section.metadata["heading_path"], sum(map(bool, parent.member_scores))
    return MergedUp(parent.section.node_id, tuple(path), parent.members, found)


def _is_child(section: Node, parent: str) -> bool:
    """Whether a section is the text of a heading, or directly under it."""
    return parent in (section.node_id, section.metadata.get("parent"))


def _family(document: StoredDocument, parent: str) -> Sequence[StoredNode]:
    """The sections of a heading, from its own text to the last one below it."""
    inside, places = {parent}, list[int]()
    for place, section in enumerate(document.sections):
        if section.node_id == parent or section.metadata.get("parent") in inside:
            inside.add(section.node_id)
            places.append(place)
    return document.sections[min(places, default=0) : max(places, default=-1) + 1]


def _replaced(
    passages: list[Passage], document: StoredDocument, family: Sequence[StoredNode], parent: str
) -> list[Passage]:
    """The passages, a heading's text in the place of its first one, which keeps its id and its scores."""
    start, end = family[0], family[-1]
    text = document.text[start.start_char_idx : end.end_char_idx]
    members = tuple(section.node_id for section in family)
    inside = [passage for passage in passages if {*members}.issuperset(passage.section_ids)]
    changed = not inside or any(passage.section.text not in text for passage in inside)
    if changed or len(text.split()) > MOST_WORDS:
        return passages
    above = (
        {} if start.node_id == parent else {"heading_path": start.metadata["heading_path"][:-1], "parent": ""}
    )
    metadata = {**start.metadata, **above, "end_line": end.metadata["end_line"]}
    leaves = tuple(leaf for section in family for leaf in section.sentence_ids)
    first, scores = inside[0], {id_: p.score_of(id_) for p in inside for id_ in p.section_ids}
    hits = {hit.node.node_id: hit for passage in inside for hit in passage.sentences}
    whole = replace(
        first,
        section=replace(
            start,
            node_id=first.section.node_id,
            text=text,
            metadata=metadata,
            end_char_idx=end.end_char_idx,
            sentence_ids=leaves,
        ),
        sentences=tuple(sorted(hits.values(), key=lambda hit: -hit.score)),
        merged=True,
        members=members,
        member_scores=tuple(scores.get(member, 0.0) for member in members),
    )
    return [whole if p is first else p for p in passages if p is first or p not in inside]
