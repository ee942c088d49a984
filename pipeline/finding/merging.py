"""Auto-merge: if enough of them were found, a section replaces its sentences, a heading its sections."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache

from pipeline.analysis import content_terms
from pipeline.answer import Passage
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node, StoredNode
from pipeline.steps.records import Step
from pipeline.stores.base import DocumentStore, StoredDocument

MIN_CHILDREN, MIN_SHARE = 2, 0.5  # least number and share of a parent's children to merge them
INTRODUCTION = 600  # most characters of a heading's own text that is joined with the section below it
MOST_WORDS = 400  # of a parent: procedures have up to 390, chapters 1,000

Heading = tuple[str, ...]  # a source, then a heading path in it


def is_merged(found: int, children: int) -> bool:
    """Return whether the parent replaces its children: at least two, and at least half, were found."""
    return found >= max(MIN_CHILDREN, MIN_SHARE * children)


def merge_up(step: Step, passages: list[Passage], question: str, store: DocumentStore) -> list[Passage]:
    """Return the passages; a heading's whole text replaces its sections if enough of them were found.

    The children of a heading are its own text and the headings directly below it; those among the first
    `within` passages count as found. Deeper headings are merged first, and then count as children. Not merged
    are texts of more than `MOST_WORDS` words and documents that changed since the search. If the first
    passage's own heading is the `question` (stop words aside), the headings above it are not merged either.
    """
    first = [_heading(passage.section) for passage in passages[: step.data["within"]]]
    headings = dict.fromkeys(heading[:end] for heading in first for end in range(2, len(heading) + 1))
    if first and {*content_terms(question)} == {*content_terms(first[0][-1])}:
        headings = {h: None for h in headings if h != first[0][: len(h)] or h == first[0]}
    document = cache(store.document)
    for heading in sorted(headings, key=len, reverse=True):
        found = {_heading(passage.section) for passage in passages[: step.data["within"]]}
        children = {child for child in found if heading in (child, child[:-1])}
        if len(children) >= MIN_CHILDREN:
            with suppress(UnknownDocument):
                passages = _merged(passages, heading, len(children), document(heading[0]))
    step.data["parents"] = [
        {"section_id": one.section.node_id, "heading_path": one.section.metadata["heading_path"],
         "members": tuple(one.members)}
        for one in passages if one.members
    ]  # fmt: skip
    return passages


def _heading(section: Node) -> Heading:
    return (section.metadata["source"], *section.metadata["heading_path"])


def _merged(passages: list[Passage], heading: Heading, found: int, document: StoredDocument) -> list[Passage]:
    """Return the passages with the whole text of `heading` in the place of the first passage below it.

    The passages stay as they are if the `found` children are too few, or the text is too long or has changed.
    """
    own = [n for n, one in enumerate(document.sections) if _heading(one)[: len(heading)] == heading]
    family = document.sections[own[0] : own[-1] + 1] if own else ()
    if not family or not is_merged(found, len({_heading(one)[: len(heading) + 1] for one in family})):
        return passages
    words = document.text[family[0].start_char_idx : family[-1].end_char_idx].split()
    return passages if len(words) > MOST_WORDS else _joined(passages, family, document.text, heading[1:])


def join_introductions(passages: Sequence[Passage], store: DocumentStore) -> list[Passage]:
    """Return the passages; if a heading's own text and the section right below it were found, join the two.

    An introduction may announce three methods; the section below it has the first of them.
    """
    places = {(one.section.metadata["source"], one.section.metadata.get("order")): one for one in passages}
    joined = [*passages]
    for upper in passages:
        above, begin = _heading(upper.section), upper.section.metadata.get("order", 0)
        lower = places.get((above[0], begin + len(upper.section_ids)))
        if lower is None or len(upper.section.text) > INTRODUCTION:
            continue
        if _heading(lower.section)[:-1][: len(above)] != above:
            continue
        ids = (*upper.section_ids, *lower.section_ids)
        with suppress(UnknownDocument):
            document = store.document(above[0])
            family = document.sections[begin : begin + len(ids)]
            if ids == tuple(section.node_id for section in family):
                joined = _joined(joined, family, document.text, above[1:])
    return joined


def _joined(
    passages: Sequence[Passage], family: Sequence[StoredNode], document_text: str, heading_path: Sequence[str]
) -> list[Passage]:
    """Return the passages; those of `family`, a run of sections, are joined in the place of the first one.

    The joined passage has the id and scores of the first one. The passages stay as they are if the document
    has changed, or if fewer than two of them are in the family.
    """
    ids = {section.node_id for section in family}
    inside = [passage for passage in passages if ids.issuperset(passage.section_ids)]
    begin, end = family[0].start_char_idx, family[-1].end_char_idx
    text = shown = document_text[begin:end]
    if len(inside) < MIN_CHILDREN or any(passage.section.text not in text for passage in inside):
        return [*passages]
    for section in family:  # a mask is as long as its text
        mask = section.metadata.get("shown", section.text)
        shown = shown[: section.start_char_idx - begin] + mask + shown[section.end_char_idx - begin :]
    scores = {id_: passage.score_of(id_) for passage in inside for id_ in passage.section_ids}
    names = {"heading_path": [*heading_path], "end_line": family[-1].metadata["end_line"], "shown": shown}
    parent = replace(
        family[0],
        node_id=inside[0].section.node_id,
        text=text,
        metadata={**family[0].metadata, **names},
        end_char_idx=end,
        sentence_ids=tuple(leaf for section in family for leaf in section.sentence_ids),
    )
    hits = tuple(sorted((hit for passage in inside for hit in passage.sentences), key=lambda hit: -hit.score))
    members = {section.node_id: scores.get(section.node_id, 0.0) for section in family}
    whole = replace(inside[0], section=parent, sentences=hits, merged=True, members=members)
    return [whole if p is inside[0] else p for p in passages if p is inside[0] or p not in inside]
