"""Auto-merge: if enough of a section is found, it replaces its sentences; so does a heading its sections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.answer import Passage
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node, end_of, start_of
from pipeline.stores.base import DocumentStore, StoredDocument

if TYPE_CHECKING:
    from pipeline.steps.records import Step

MIN_CHILDREN, MIN_SHARE = 2, 0.5  # of the children, in order to merge them into their parent
MOST_WORDS = 400  # of a parent: procedures have up to 390, chapters 1,000

Heading = tuple[str, ...]  # a source, then a heading path in it


def is_merged(found: int, children: int) -> bool:
    """Whether enough of a parent's children were found to replace them by the parent."""
    return found >= max(MIN_CHILDREN, MIN_SHARE * children)


def merge_up(step: Step, passages: list[Passage], sections: DocumentStore) -> list[Passage]:
    """Return the passages, in which a heading's whole text replaces its sections if enough were found.

    The children of a heading are its own text and the headings directly under it; those among the first
    `within` passages count. Deep headings are merged first, and count for the next ones. Headings of more
    than `MOST_WORDS` words, and documents that changed since the search, are not merged.
    """
    first = [_heading(passage.section) for passage in passages[: step.data["within"]]]
    headings = dict.fromkeys(heading[:end] for heading in first for end in range(2, len(heading) + 1))
    for heading in sorted(headings, key=len, reverse=True):
        found = {_heading(passage.section) for passage in passages[: step.data["within"]]}
        children = {child for child in found if heading in (child, child[:-1])}
        family = _family(heading, sections) if len(children) >= MIN_CHILDREN else None
        every = {_heading(section)[: len(heading) + 1] for section in family.sections} if family else ()
        if family and is_merged(len(children), len(every)):
            passages = _replaced(passages, heading, family)
    step.data["parents"] = [
        {"section_id": one.section.node_id, "heading_path": one.section.metadata["heading_path"],
         "members": one.members}
        for one in passages if one.members
    ]  # fmt: skip
    return passages


def _heading(section: Node) -> Heading:
    return (section.metadata["source"], *section.metadata["heading_path"])


def _family(heading: Heading, sections: DocumentStore) -> StoredDocument | None:
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
    text, shown = _text(family)
    is_changed = not inside or any(passage.section.text not in text for passage in inside)
    if is_changed or len(text.split()) > MOST_WORDS:
        return passages
    first, scores = inside[0], {id_: p.score_of(id_) for p in inside for id_ in p.section_ids}
    opening, last = family.sections[0], family.sections[-1]
    own = {"heading_path": [*heading[1:]], "end_line": last.metadata["end_line"], "shown": shown}
    parent = replace(
        opening,
        node_id=first.section.node_id,
        text=text,
        metadata={**opening.metadata, **own},
        end_char_idx=last.end_char_idx,
        sentence_ids=tuple(leaf for section in family.sections for leaf in section.sentence_ids),
    )
    hits = sorted((hit for passage in inside for hit in passage.sentences), key=lambda hit: -hit.score)
    own_scores = tuple(scores.get(member, 0.0) for member in members)
    whole = replace(
        first, section=parent, sentences=tuple(hits), merged=True, members=members, member_scores=own_scores
    )
    return [whole if p is first else p for p in passages if p is first or p not in inside]


def _text(family: StoredDocument) -> tuple[str, str]:
    """Return the text of sections that follow one another, and its mask."""
    start = position = start_of(family.sections[0])
    shown = ""
    for section in family.sections:
        shown += family.text[position : start_of(section)] + section.metadata.get("shown", section.text)
        position = end_of(section)
    return family.text[start:position], shown
