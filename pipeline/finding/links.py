"""Links: the sections that a passage names, by a Markdown link or by the code that their heading begins with."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

import numpy as np

from pipeline.answer import Passage
from pipeline.finding.merging import MOST_WORDS
from pipeline.finding.tree import Branch, Trees, heading_path, standing_for
from pipeline.steps.records import Led
from pipeline.stores.base import DocumentStore, SearchRequest, Vector
from pipeline.stores.globs import matches

READ_PASSAGES = 3  # whose names are followed: an answer is nearly always in the first three
MOST_NAMES = 2  # of one passage: a table of all alarms names forty procedures
SHARE = 0.8  # of the naming passage's score, for a section that is as close to the question
CODE_HITS = 30  # sections that a search for the codes may give: those of a procedure are up to ten

LINK = re.compile(r"\[[^\]\[]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:|^//|^/")
# An id as procedures, alarms and rules have: P-EPS-01, C-113, ADR-0007, E0382.
CODE = re.compile(r"(?<![\w-])[A-Z]+(?:-[A-Z0-9]+)*-?\d+(?![\w-])")
NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Name:
    """What a passage calls another section: the target of a link, or a code."""

    text: str
    passage: Passage
    source: str = ""  # the document that a link means; "" for a code
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The branch that a name means."""

    name: Name
    branch: Branch


def follow(
    passages: Sequence[Passage],
    *,
    store: DocumentStore,
    trees: Trees,
    vector: Vector | None,
    paths: str | None,
) -> tuple[list[Passage], tuple[Led, ...]]:
    """The passages with those that the first ones name among them, by score; and what was brought.

    What is named comes whole where it is short enough to be read at once, else as its section nearest to
    the question. It scores `SHARE` of the passage that names it, times the ratio of their closeness to the
    question (1 at most). What the passages have at a better score stays where it is.
    """
    names = [name for passage in passages[:READ_PASSAGES] for name in _names(passage)]
    found = [*_linked(names, trees, paths), *_coded(names, store, trees, paths)]
    if not found:
        return list(passages), ()
    naming = {item.name.passage.section_ids[0] for item in found}
    vectors = store.sentences.vectors([*naming, *(id for item in found for id in item.branch.section_ids)])
    result, led = list(passages), list[Led]()
    for item in found:
        brought = _brought(item, result, vectors, vector)
        if brought is not None:
            result = _with(result, brought)
            led.append(_led(item, brought))
    return result, tuple(led)


# -- what is named ------------------------------------------------------------------------------------------


def _names(passage: Passage) -> list[Name]:
    """The first names in the sentences that were found of a passage, best first."""
    found: dict[tuple[str, str, str], Name] = {}
    for hit in passage.sentences:
        for name in (*_links(hit.node.text, passage), *_codes(hit.node.text, passage)):
            found.setdefault((name.source, name.anchor, name.text), name)
    return list(found.values())[:MOST_NAMES]


def _links(text: str, passage: Passage) -> Iterator[Name]:
    """The links to places in the documents."""
    source = passage.section.metadata["source"]
    for target in LINK.findall(text):
        if SCHEME.match(target):
            continue
        file, _, anchor = unquote(target).partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), file)) if file else source
        yield Name(target, passage, path, anchor)


def _codes(text: str, passage: Passage) -> Iterator[Name]:
    """The codes outside of links, but for those of the headings that the passage stands under."""
    own = " ".join(heading_path(passage))
    for code in CODE.findall(LINK.sub(" ", text)):
        if code not in own:
            yield Name(code, passage)


# -- what the names mean ------------------------------------------------------------------------------------


def _linked(names: Iterable[Name], trees: Trees, paths: str | None) -> Iterator[Found]:
    """The branches that links mean; one to a whole document that is not short means none."""
    for name in names:
        tree = trees.get(name.source) if name.source and (not paths or matches(name.source, paths)) else None
        if tree is None:
            continue
        for path, section_id in [((), tree.document.sections[0].node_id)] if not name.anchor else tree.headings():
            if not name.anchor or anchor(path[-1]) == name.anchor.lower():
                branch = tree.branch(section_id, path)
                if branch:
                    yield Found(name, branch)
                break


def _coded(
    names: Iterable[Name], store: DocumentStore, trees: Trees, paths: str | None
) -> Iterator[Found]:
    """The branches whose heading begins with a code: found by one search for all codes."""
    coded = {name.text: name for name in reversed([*names]) if not name.source}
    if not coded:
        return
    request = SearchRequest(" ".join(coded), None, CODE_HITS, paths)
    hits = [hit.node_id for hit in store.sentences.search(request).bm25_sections]
    sections = store.sections.get_many(hits)
    for section_id in hits:
        section = sections.get(section_id)
        if section is None:
            continue
        for depth, heading in enumerate(section.metadata["heading_path"], start=1):
            code = CODE.match(heading)
            if code and code[0] in coded:
                tree = trees.get(section.metadata["source"])
                path = tuple(section.metadata["heading_path"][:depth])
                branch = tree.branch(section_id, path) if tree else None
                if branch:
                    yield Found(coded.pop(code[0]), branch)
                break


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub and most site generators write it."""
    plain = unicodedata.normalize("NFC", heading).strip().lower()
    return NOT_IN_ANCHORS.sub("", plain).replace(" ", "-")


# -- what is brought ----------------------------------------------------------------------------------------


def _brought(
    found: Found, passages: Sequence[Passage], vectors: Mapping[str, Vector], question: Vector | None
) -> Passage | None:
    """The passage of a branch; None where one of its own stands as high already."""
    closeness = {
        section.node_id: _cosine(vectors.get(section.node_id), question) for section in found.branch.sections
    }
    nearest = max(found.branch.sections, key=lambda section: closeness[section.node_id])
    named_by = found.name.passage
    own = _cosine(vectors.get(named_by.section_ids[0]), question)
    ratio = min(1.0, closeness[nearest.node_id] / own) if own else 1.0
    score = SHARE * named_by.score * ratio
    whole = found.branch.words <= MOST_WORDS
    ids = {*(found.branch.section_ids if whole else (nearest.node_id,))}
    inside = [passage for passage in passages if ids.issuperset(passage.section_ids)]
    if any(passage.score >= score for passage in inside) or named_by.section_ids[0] in ids:
        return None
    first = inside[0] if inside else Passage(nearest, (), False, score)
    brought = replace(first, score=score, led_by=named_by.section.node_id)
    return standing_for(found.branch, [brought, *inside[1:]]) if whole and len(ids) > 1 else brought


def _with(passages: Sequence[Passage], brought: Passage) -> list[Passage]:
    """The passages with one more, by its score; what it has in it goes."""
    ids = {*brought.section_ids}
    others = [passage for passage in passages if not ids.issuperset(passage.section_ids)]
    place = sum(passage.score >= brought.score for passage in others)
    return [*others[:place], brought, *others[place:]]


def _cosine(one: Vector | None, two: Vector | None) -> float:
    return 0.0 if one is None or two is None else max(0.0, float(np.dot(one, two)))


def _led(found: Found, brought: Passage) -> Led:
    return Led(
        brought.section.node_id,
        brought.section.metadata["source"],
        heading_path(brought),
        brought.led_by,
        found.name.text,
        brought.score,
    )
