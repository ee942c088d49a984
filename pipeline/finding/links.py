"""Links: sections that a passage names, by a Markdown link or by the code that their heading begins with."""

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
from pipeline.finding.tree import Branch, Path, Trees, heading_path, standing_for
from pipeline.nodes import Node, ScoredNode
from pipeline.steps.records import Led
from pipeline.stores.base import DocumentStore, SearchRequest, Vector
from pipeline.stores.globs import Globs, matches
from pipeline.terms import content_terms, leaf_terms

# Chosen on the questions of `evals/data/alarms` and on the halves of the others that one may look at; those
# gained or lost nothing from 3 to 8 passages, 2 or 3 names and a coverage of .34 to .67.
READ_PASSAGES = 5  # whose names are followed
MOST_NAMES = 3  # of one passage: a table of alarms names forty procedures
LEAST_COVERAGE = 0.5  # of the question's words, in the sentence that names
ROW_HITS = 20  # sentences in which a row is looked for that begins with a code of the question
CODE_HITS = 20  # sections that a search for the codes may give: a procedure has up to ten

LINK = re.compile(r"\[[^\]\[]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
ELSEWHERE = re.compile(r"^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|/)")
# An id as procedures, alarms and rules have: P-EPS-01, C-113, ADR-0007, E0382. PPO2 is none.
CODE = re.compile(r"(?<![\w-])(?:[A-Z]+(?:-[A-Z0-9]+)*-\d+|[A-Z]+\d{3,})(?![\w-])")
FIRST_CODE = re.compile(rf"[\s|*_`]*({CODE.pattern})")
NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Name:
    """What a sentence calls another section: the target of a link, or a code."""

    text: str
    passage: Passage
    coverage: float  # share of the question's words in the sentence
    asked: bool = False  # the sentence is the row of a code of the question
    source: str = ""  # the document that a link means; "" for a code
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class NamedBranch:
    """The branch that a name means."""

    name: Name
    branch: Branch


def follow(
    passages: Sequence[Passage],
    question: str,
    *,
    store: DocumentStore,
    trees: Trees,
    vector: Vector | None,
    paths: Globs | None,
) -> tuple[list[Passage], tuple[Led, ...]]:
    """The passages with those that the first ones name among them, by score; and what was brought.

    Only sentences that were found and have half of the question's words name anything: the row of an alarm
    names the procedure for a question about this alarm, and not for one about its neighbours. The row of a
    code that is asked about names it wherever the row stands, beside the first passage. What is named
    scores the naming passage's score times that share of words. It comes whole where it is short enough to
    be read at once, else as its section nearest to the question. What stands as high already stays.
    """
    terms = content_terms(question)
    names = [*_names_in_rows(passages, question, terms, store, paths)]
    names += [name for passage in passages[:READ_PASSAGES] for name in _names(passage, question, terms)]
    found = [*_linked(names, trees, paths), *_coded(names, store, trees, paths)]
    if not found:
        return list(passages), ()
    long = [item.branch for item in found if item.branch.words > MOST_WORDS]
    vectors = store.sentences.vectors([*dict.fromkeys(i for branch in long for i in branch.section_ids)])
    result, led = list(passages), list[Led]()
    for item in found:
        brought = _brought(item, result, vectors, vector)
        if brought is not None:
            result = _with(result, brought)
            led.append(_led(item, brought))
    return result, tuple(led)


# -- what is named ------------------------------------------------------------------------------------------


def _names(passage: Passage, question: str, terms: Sequence[str]) -> list[Name]:
    """The first names in the sentences that were found of a passage, best first."""
    found: dict[tuple[str, str, str], Name] = {}
    for hit in passage.sentences:
        coverage = _coverage(terms, hit.node)
        if coverage < LEAST_COVERAGE:
            continue
        for name in (*_links(hit.node.text, passage, coverage), *_codes(hit.node.text, passage, coverage)):
            if name.text not in question:  # what is asked about has been searched for
                found.setdefault((name.source, name.anchor, name.text), name)
    return list(found.values())[:MOST_NAMES]


def _names_in_rows(
    passages: Sequence[Passage],
    question: str,
    terms: Sequence[str],
    store: DocumentStore,
    paths: Globs | None,
) -> Iterator[Name]:
    """The names in the rows that begin with a code of the question, as if the best passage had them."""
    codes = [*dict.fromkeys(CODE.findall(question))]
    if not codes or not passages:
        return
    hits = store.sentences.search(SearchRequest(" ".join(codes), None, ROW_HITS, paths)).bm25_sentences
    rows = store.sentences.get_many([hit.node_id for hit in hits[: ROW_HITS * len(codes)]])
    for row in rows.values():
        begins = FIRST_CODE.match(row.text)
        section = store.sections.get_many([row.section_id]).get(row.section_id) if begins else None
        if begins and begins[1] in codes and section:
            passage = Passage(section, (ScoredNode(row, 0.0),), merged=False, score=passages[0].score)
            coverage = max(LEAST_COVERAGE, _coverage(terms, row))
            for name in _codes(row.text, passage, coverage):
                if name.text not in question:
                    yield replace(name, asked=True)


def _coverage(terms: Sequence[str], sentence: Node) -> float:
    """The share of the question's content words that the sentence or its table's header has."""
    present = leaf_terms(sentence)
    return sum(term in present for term in terms) / len(terms) if terms else 0.0


def _links(text: str, passage: Passage, coverage: float) -> Iterator[Name]:
    """The links to places in the documents."""
    source = passage.section.metadata["source"]
    for target in LINK.findall(text):
        if not ELSEWHERE.match(target):
            file, _, place = unquote(target).partition("#")
            path = posixpath.normpath(posixpath.join(posixpath.dirname(source), file)) if file else source
            yield Name(target, passage, coverage, source=path, anchor=place.lower())


def _codes(text: str, passage: Passage, coverage: float) -> Iterator[Name]:
    """The codes outside of links, but for those of the headings that the passage stands under."""
    own = " ".join(heading_path(passage))
    for code in CODE.findall(LINK.sub(" ", text)):
        if code not in own:
            yield Name(code, passage, coverage)


# -- what the names mean ------------------------------------------------------------------------------------


def _linked(names: Iterable[Name], trees: Trees, paths: Globs | None) -> Iterator[NamedBranch]:
    """The branches of the headings that links mean, of a link without an anchor the whole document."""
    for name in names:
        if not name.source or (paths and not matches(name.source, paths)):
            continue
        tree = trees.get(name.source)
        path, section_id = tree.heading(anchor, name.anchor) if tree else ((), "")
        branch = tree.branch(section_id, path) if tree and section_id else None
        if branch:
            yield NamedBranch(name, branch)


def _coded(
    names: Iterable[Name], store: DocumentStore, trees: Trees, paths: Globs | None
) -> Iterator[NamedBranch]:
    """The branches whose heading begins with a code: found by one search for all codes."""
    coded = {name.text: name for name in reversed([*names]) if not name.source}
    if not coded:
        return
    request = SearchRequest(" ".join(coded), None, CODE_HITS, paths)
    hits = [hit.node_id for hit in store.sentences.search(request).bm25_sections]
    sections = store.sections.get_many(hits)
    for section in (sections[section_id] for section_id in hits if section_id in sections):
        code, path = _own_code(tuple(section.metadata["heading_path"]), coded)
        tree = trees.get(section.metadata["source"]) if code else None
        branch = tree.branch(section.node_id, path) if tree else None
        if branch:
            yield NamedBranch(coded.pop(code), branch)


def _own_code(path: Path, wanted: Iterable[str]) -> tuple[str, Path]:
    """The outermost heading of a path that begins with one of the codes: the code, and the path to it."""
    for depth, heading in enumerate(path, start=1):
        code = CODE.match(heading)
        if code and code[0] in wanted:
            return code[0], path[:depth]
    return "", ()


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub and most site generators write it."""
    plain = unicodedata.normalize("NFC", heading).strip().lower()
    return NOT_IN_ANCHORS.sub("", plain).replace(" ", "-")


# -- what is brought ----------------------------------------------------------------------------------------


def _brought(
    found: NamedBranch, passages: Sequence[Passage], vectors: Mapping[str, Vector], question: Vector | None
) -> Passage | None:
    """The passage of a branch; None where all or a part of it stands as high already.

    A part is not enough of what a code leads to that is asked about: its symptoms are found by the same code,
    and what is wanted is the fix.
    """
    branch, named_by = found.branch, found.name.passage
    whole = branch.words <= MOST_WORDS
    nearest = max(branch.sections, key=lambda section: _cosine(vectors.get(section.node_id), question))
    ids = {*(branch.section_ids if whole else (nearest.node_id,))}
    score = named_by.score * found.name.coverage
    inside = [passage for passage in passages if ids.issuperset(passage.section_ids)]
    around = [passage for passage in passages if ids.issubset(passage.section_ids)]
    if around or not ids.isdisjoint(named_by.section_ids):
        return None
    highest = max((item.score for item in inside), default=0.0)
    if highest >= score and not (found.name.asked and whole):
        return None
    score = max(score, highest)
    first = inside[0] if inside else Passage(nearest, (), False, 0.0)
    brought = standing_for(branch, [first, *inside[1:]]) if len(ids) > 1 else first
    return replace(brought, score=score, led_by=named_by.section.node_id)


def _with(passages: Sequence[Passage], brought: Passage) -> list[Passage]:
    """The passages with one more, by its score, in the place of those that are part of it."""
    ids = {*brought.section_ids}
    others = [passage for passage in passages if not ids.issuperset(passage.section_ids)]
    place = sum(passage.score >= brought.score for passage in others)
    return [*others[:place], brought, *others[place:]]


def _cosine(one: Vector | None, two: Vector | None) -> float:
    return 0.0 if one is None or two is None else float(np.dot(one, two))


def _led(found: NamedBranch, brought: Passage) -> Led:
    return Led(
        brought.section.node_id,
        brought.section.metadata["source"],
        heading_path(brought),
        brought.led_by,
        found.name.text,
        round(brought.score, 5),
        brought.members,
    )
