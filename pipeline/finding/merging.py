"""Auto-merge: if enough of a section is found, it replaces its sentences; so does a heading its sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from pipeline.answer import Passage
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node, StoredNode
from pipeline.steps.records import Step
from pipeline.stores.base import DocumentStore

MIN_CHILDREN, MIN_SHARE = 2, 0.5  # of the children, in order to merge them into their parent
INTRODUCTION = 600  # characters; a longer text of a heading stands by itself
MOST_WORDS = 400  # of a parent: procedures have up to 390, chapters 1,000

Heading = tuple[str, ...]  # a source, then a heading path in it


def is_merged(found: int, children: int) -> bool:
    """Whether enough of a parent's children were found to replace them by the parent."""
    return found >= max(MIN_CHILDREN, MIN_SHARE * children)


def merge_up(step: Step, passages: list[Passage], store: DocumentStore) -> list[Passage]:
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
        if len(children) >= MIN_CHILDREN:
            passages = _merged(passages, heading, len(children), store)
    step.data["parents"] = [
        {"section_id": one.section.node_id, "heading_path": one.section.metadata["heading_path"],
         "members": one.members}
        for one in passages if one.members
    ]  # fmt: skip
    return passages


def _heading(section: Node) -> Heading:
    return (section.metadata["source"], *section.metadata["heading_path"])


def _merged(passages: list[Passage], heading: Heading, found: int, store: DocumentStore) -> list[Passage]:
    """Return the passages with a parent in the place of its first one, which keeps its id and its scores.

    They stay as they are if the `found` children are too few, or the parent is too long or has changed.
    """
    try:
        document = store.document(heading[0])
    except UnknownDocument:
        return passages
    own = [n for n, one in enumerate(document.sections) if _heading(one)[: len(heading)] == heading]
    family = document.sections[own[0] : own[-1] + 1] if own else ()
    ids = tuple(section.node_id for section in family)
    inside = [passage for passage in passages if {*ids}.issuperset(passage.section_ids)]
    if not inside or not is_merged(found, len({_heading(one)[: len(heading) + 1] for one in family})):
        return passages
    if len(document.text[family[0].start_char_idx : family[-1].end_char_idx].split()) > MOST_WORDS:
        return passages
    return _joined(passages, inside, family, document.text, heading[1:])


def join_introductions(passages: Sequence[Passage], store: DocumentStore) -> list[Passage]:
    """Return the passages; of a heading's own text and the section right below it, both found, they make one.

    An introduction says that there are three methods; the section below it has the first of them.
    """
    joined = list(passages)
    for upper, lower in permutations(passages, 2):
        above, below = _heading(upper.section), _heading(lower.section)
        pair = [passage for passage in joined if passage is upper or passage is lower]
        if len(pair) < 2 or above == below or below[: len(above)] != above:
            continue
        if len(upper.section.text) > INTRODUCTION:
            continue
        try:
            document = store.document(above[0])
        except UnknownDocument:
            continue
        ids = [section.node_id for section in document.sections]
        members = (*upper.section_ids, *lower.section_ids)
        start = ids.index(members[0]) if members[0] in ids else 0
        if tuple(ids[start : start + len(members)]) == members:
            family = document.sections[start : start + len(members)]
            joined = _joined(joined, pair, family, document.text, above[1:])
    return joined


def _joined(
    passages: Sequence[Passage],
    inside: Sequence[Passage],
    family: Sequence[StoredNode],
    document_text: str,
    heading_path: Sequence[str],
) -> list[Passage]:
    """Return the passages with one for a family of sections in the place of the first of those `inside` it.

    It keeps that one's id and scores. The passages stay as they are if the document has changed.
    """
    text, shown = _text(family, document_text)
    if any(passage.section.text not in text for passage in inside):
        return [*passages]
    first, last, ids = inside[0], family[-1], tuple(section.node_id for section in family)
    scores = {id_: passage.score_of(id_) for passage in inside for id_ in passage.section_ids}
    names = {"heading_path": [*heading_path], "end_line": last.metadata["end_line"], "shown": shown}
    parent = replace(
        family[0],
        node_id=first.section.node_id,
        text=text,
        metadata={**family[0].metadata, **names},
        end_char_idx=last.end_char_idx,
        sentence_ids=tuple(leaf for section in family for leaf in section.sentence_ids),
    )
    hits = tuple(sorted((hit for passage in inside for hit in passage.sentences), key=lambda hit: -hit.score))
    own_scores = tuple(scores.get(id_, 0.0) for id_ in ids)
    whole = replace(first, section=parent, sentences=hits, merged=True, members=ids, member_scores=own_scores)
    return [whole if p is first else p for p in passages if p is first or p not in inside]


def _text(family: Sequence[StoredNode], text: str) -> tuple[str, str]:
    """Return the text from the first to the last of consecutive sections, as in the file and as shown."""
    start = position = family[0].start_char_idx
    shown = ""
    for section in family:
        shown += text[position : section.start_char_idx] + section.metadata.get("shown", section.text)
        position = section.end_char_idx
    return text[start:position], shown
