"""Auto-merge: where enough was found of a section, it replaces its sentences; of a heading, its sections."""

from __future__ import annotations

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
MOST_WORDS = 400  # of a parent: procedures have up to 390, chapters 1,000 (docs/decisions/finding.md)

Heading = tuple[str, ...]  # a source, then a heading path in it


def is_merged(found: int, children: int, *, threshold: float) -> bool:
    """Whether a parent replaces its children: two at least were found, and the share `threshold` of them."""
    return found >= MIN_CHILDREN and found >= threshold * children


def merge_up(
    step: RunningStep[MergeUpStep], passages: list[Passage], sections: SectionStore
) -> list[Passage]:
    """The passages, with a heading's text in the place of its best section where enough of it was found.

    Of a heading's own text and the headings directly under it, two and the share `ratio` must be among the
    first `within` passages; then all its passages are replaced. Deep headings come first: a merged one counts
    for the next, whether or not it has text of its own. Headings of more than `MOST_WORDS`, and documents
    that changed since the search, stay as they are.
    """
    within = step.record.within
    found = [_heading(passage.section) for passage in passages[:within]]
    headings = dict.fromkeys(heading[:end] for heading in found for end in range(2, len(heading) + 1))
    for heading in sorted(headings, key=len, reverse=True):
        near = [passage for passage in passages[:within] if _is_child(passage.section, heading)]
        if len(near) < MIN_CHILDREN:
            continue
        try:
            document = sections.document(heading[0])
        except UnknownDocument:
            continue
        family = _family(document, heading, near[0].section.node_id)
        children = {_heading(section)[: len(heading) + 1] for section in family}
        merging = {_heading(p.section) for p in near if p.section.node_id in {s.node_id for s in family}}
        if is_merged(len(merging), len(children), threshold=step.record.ratio):
            passages = _replaced(passages, _parent(document, heading, family), family)
    step.set(parents=tuple(_record(passage) for passage in passages if passage.members))
    return passages


def _record(parent: Passage) -> MergedUp:
    path, found = parent.section.metadata["heading_path"], sum(map(bool, parent.member_scores))
    return MergedUp(parent.section.node_id, tuple(path), parent.members, found)


def _heading(section: Node) -> Heading:
    return (section.metadata["source"], *section.metadata["heading_path"])


def _is_child(section: Node, heading: Heading) -> bool:
    """Whether a section is the text of a heading, or directly under it."""
    return heading in (_heading(section), _heading(section)[:-1])


def _family(document: StoredDocument, heading: Heading, section_id: str) -> list[StoredNode]:
    """The sections of that heading which has the given section: a document may have several of one path."""
    family: list[StoredNode] = []
    for section in document.sections:
        own = _heading(section)
        if own[: len(heading)] != heading or own == heading:  # another heading begins
            if any(member.node_id == section_id for member in family):
                break
            family = []
        if own[: len(heading)] == heading:
            family.append(section)
    return family


def _parent(document: StoredDocument, heading: Heading, family: Sequence[StoredNode]) -> StoredNode:
    """A heading's text as one section."""
    start, end = family[0], family[-1]
    text = shown = document.text[start.start_char_idx : end.end_char_idx]
    for section in family:
        seen = section.metadata.get("shown", section.text)
        at = (section.start_char_idx or 0) - (start.start_char_idx or 0)
        shown = shown[:at] + seen + shown[at + len(seen) :]
    above = {"heading_path": [*heading[1:]], "end_line": end.metadata["end_line"], "shown": shown}
    leaves = tuple(leaf for section in family for leaf in section.sentence_ids)
    metadata = {**start.metadata, **above}
    return replace(start, text=text, metadata=metadata, end_char_idx=end.end_char_idx, sentence_ids=leaves)


def _replaced(passages: list[Passage], parent: StoredNode, family: Sequence[StoredNode]) -> list[Passage]:
    """The passages, a parent in the place of its first one, which keeps its id and its scores."""
    members = tuple(section.node_id for section in family)
    inside = [passage for passage in passages if {*members}.issuperset(passage.section_ids)]
    if len(parent.text.split()) > MOST_WORDS or any(p.section.text not in parent.text for p in inside):
        return passages
    first, scores = inside[0], {id_: p.score_of(id_) for p in inside for id_ in p.section_ids}
    hits = {hit.node.node_id: hit for passage in inside for hit in passage.sentences}
    whole = replace(
        first,
        section=replace(parent, node_id=first.section.node_id),
        sentences=tuple(sorted(hits.values(), key=lambda hit: -hit.score)),
        merged=True,
        members=members,
        member_scores=tuple(scores.get(member, 0.0) for member in members),
    )
    return [whole if p is first else p for p in passages if p is first or p not in inside]
