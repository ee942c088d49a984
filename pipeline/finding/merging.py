"""Auto-merge: where enough was found of a section, it replaces its sentences; of a heading, its sections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipeline.answer import Passage
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node, StoredNode
from pipeline.stores.base import SectionStore, StoredDocument

if TYPE_CHECKING:
    from pipeline.steps.trace import RunningStep

MIN_CHILDREN = 2  # a section of one sentence gains nothing, and one hit of two says little
MOST_WORDS = 400  # of a parent: procedures have up to 390, chapters 1,000 (docs/decisions/finding.md)

Heading = tuple[str, ...]  # a source, then a heading path in it


def is_merged(found: int, children: int, *, threshold: float) -> bool:
    """Whether a parent replaces its children: two at least were found, and the share `threshold` of them."""
    return found >= MIN_CHILDREN and found >= threshold * children


def merge_up(step: RunningStep, passages: list[Passage], sections: SectionStore) -> list[Passage]:
    """Return the passages, with a heading's text in the place of its best section where enough was found.

    Of a heading's own text and the headings directly under it, two and the share `ratio` must be among the
    first `within` passages; then all its passages are replaced. Deep headings come first: a merged one counts
    for the next. Headings of more than `MOST_WORDS`, and documents that changed since the search, stay.
    """
    within = step.data["within"]
    found = [_heading(passage.section) for passage in passages[:within]]
    headings = dict.fromkeys(heading[:end] for heading in found for end in range(2, len(heading) + 1))
    for heading in sorted(headings, key=len, reverse=True):
        own = {_heading(passage.section) for passage in passages[:within]}
        children = {child for child in own if heading in (child, child[:-1])}
        family = _family(heading, sections) if len(children) >= MIN_CHILDREN else None
        every = {_heading(section)[: len(heading) + 1] for section in family.sections} if family else ()
        if family and is_merged(len(children), len(every), threshold=step.data["ratio"]):
            passages = _replaced(passages, heading, family)
    step.data["parents"] = [_record(passage) for passage in passages if passage.members]
    return passages


def _record(parent: Passage) -> dict[str, Any]:
    """Return a parent for the step: the id of its best section, and how many of its sections were found."""
    return {
        "section_id": parent.section.node_id,
        "heading_path": parent.section.metadata["heading_path"],
        "members": parent.members,
        "found": sum(map(bool, parent.member_scores)),
    }


def _heading(section: Node) -> Heading:
    return (section.metadata["source"], *section.metadata["heading_path"])


def _family(heading: Heading, sections: SectionStore) -> StoredDocument | None:
    """Return a heading's document with the sections under that heading alone; None if it is gone."""
    try:
        document = sections.document(heading[0])
    except UnknownDocument:
        return None
    own = [n for n, one in enumerate(document.sections) if _heading(one)[: len(heading)] == heading]
    return replace(document, sections=document.sections[own[0] : own[-1] + 1]) if own else None


def _replaced(passages: list[Passage], heading: Heading, family: StoredDocument) -> list[Passage]:
    """Return the passages with a parent in the place of its first one, which keeps its id and its scores."""
    members = tuple(section.node_id for section in family.sections)
    inside = [passage for passage in passages if {*members}.issuperset(passage.section_ids)]
    parent = _parent(heading, family)
    is_changed = not inside or any(passage.section.text not in parent.text for passage in inside)
    if is_changed or len(parent.text.split()) > MOST_WORDS:
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


def _parent(heading: Heading, family: StoredDocument) -> StoredNode:
    """Return a heading's text as one section."""
    text, first, last = family.text, family.sections[0], family.sections[-1]
    start = position = first.start_char_idx or 0
    shown = ""
    for section in family.sections:
        shown += text[position : section.start_char_idx] + section.metadata.get("shown", section.text)
        position = section.end_char_idx or 0
    leaves = tuple(leaf for section in family.sections for leaf in section.sentence_ids)
    own = {"heading_path": [*heading[1:]], "end_line": last.metadata["end_line"], "shown": shown}
    return replace(
        first,
        text=text[start:position],
        metadata={**first.metadata, **own},
        end_char_idx=position,
        sentence_ids=leaves,
    )
