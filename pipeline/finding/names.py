"""Names: sections with the question's names come first; only the version that is asked for is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, TypeVar

from pipeline.analysis import (
    SECTION_REFERENCE,
    asked_names,
    content_terms,
    heading_names,
    leaf_terms,
    names,
    opening_names,
    share,
    text_terms,
)
from pipeline.answer import Passage
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, SearchRequest
from pipeline.stores.globs import Globs
from readers.dialects import title_key

Item = TypeVar("Item")
Metadata = Mapping[str, Any]
Version = tuple[float, ...]  # 2.7 is (2, 7); x stands for any number, and counts as the newest

NOWHERE = 3  # the nearness of a section whose headings lack the names
MOST_NAMED = 3  # if more sections have the names in their own heading, names do not decide
LINKING_PASSAGES = 5  # passages whose sentences are read for codes
LEAST_COVERAGE = 0.5  # of the question's content words, in a sentence that names a code
MOST_CODES = 3  # of one sentence: a list may name forty procedures
CANDIDATES = 20  # sections that the search for the codes returns
_VERSION = re.compile(r"(?i)(?<![\w.])(?:v(?:ersion[ -]?)?\d{1,9}|\d{1,9}(?=\.))(?:\.(?:\d{1,9}|x))*")
_NUMBERS = re.compile(r"\d{1,9}(?:\.(?:\d{1,9}|x\b))*", re.IGNORECASE)


def is_title(question: str, section: Node) -> bool:
    """Return whether the section is the first of a page whose title or alias is the question."""
    metadata, key = section.metadata, title_key(question)
    titles = (metadata.get("title", ""), *metadata.get("aliases", ()))
    return metadata.get("order") == 0 and bool(key) and key in map(title_key, titles)


def is_named(question: str, section: Node) -> bool:
    """Return whether the question has names, and the section's own heading has all of them."""
    return _nearness(section.metadata, asked_names(question)) == 1


def names_first(items: Sequence[Item], sections: Sequence[Node], question: str) -> list[Item]:
    """Return the items in their order, except that those whose sections have the question's names come first.

    First come pages whose title is the question, then pages with such an alias (the file's name is one), then
    sections whose own heading has all its names, then the best three that have them in outer headings or
    aliases. If the question names a version, pages of other versions are left out; if not, pages of which a
    newer version was found.
    """
    versions = [_parsed(section.metadata.get("version", "")) for section in sections]
    asked = [v for v in map(_parsed, _VERSION.findall(question)) if any(_is_of(own, v) for own in versions)]
    wanted = frozenset(name for name in asked_names(question) if _parsed(name) not in asked)
    newest: dict[str, Version] = {}
    for section, own in zip(sections, versions, strict=True):
        newest[_path(section)] = max(own, newest.get(_path(section), ()))
    nearness = _by_name(sections, question, wanted)
    ranked = [
        (_rank(question, section, nearness[place]), place)
        for place, (section, own) in enumerate(zip(sections, versions, strict=True))
        if (not own or any(_is_of(own, v) for v in asked) if asked else own == newest[_path(section)])
    ]
    return [items[place] for _, place in sorted(ranked)]


def _by_name(sections: Sequence[Node], question: str, wanted: frozenset[str]) -> list[float]:
    """Return where each section has the wanted names: 1..1.5 in its own heading, 2 in outer headings, 3 not.

    Below 2, a section with more of the question's words is nearer. A number in a heading ("3.11 Belts") does
    not count if a section with it in the text has more of these words ("is python 3.11 supported").
    """
    nearness: list[float] = [_nearness(section.metadata, wanted) for section in sections]
    own = [place for place, near in enumerate(nearness) if near == 1]
    if len(own) > MOST_NAMED:
        return [NOWHERE] * len(sections)
    best = 0.0
    if own and all(map(_NUMBERS.fullmatch, wanted)) and not SECTION_REFERENCE.search(question):
        rivals = (one for one, near in zip(sections, nearness, strict=True) if near == NOWHERE)
        best = max((coverage(question, one) for one in rivals if wanted <= names(one.text)), default=0.0)
    for place in own:
        share_said = coverage(question, sections[place])
        nearness[place] = NOWHERE if share_said < best else 1.5 - share_said / 2
    for place in [place for place, near in enumerate(nearness) if near == 2][MOST_NAMED:]:
        nearness[place] = NOWHERE  # a page with a version in its title leaves room for others
    return nearness


def coverage(question: str, section: Node) -> float:
    """Return the share of the question's content words in a section, its headings, aliases and keywords."""
    metadata = section.metadata
    language = metadata.get("language", "en")
    named = (*metadata["heading_path"], *metadata.get("aliases", ()), metadata.get("keywords", ""))
    present = text_terms("\n".join((*named, section.text)), language)
    return share(content_terms(question, language), present)


def _rank(question: str, section: Node, nearness: float) -> float:
    """Return 0 for a page whose title is the question, .5 for one with such an alias, else the nearness."""
    if not is_title(question, section):
        return nearness
    return 0.0 if title_key(section.metadata["title"]) == title_key(question) else 0.5


def _nearness(metadata: Metadata, wanted: frozenset[str]) -> int:
    """Return 1 if a section's own heading has all wanted names, 2 if all headings and aliases do, else 3."""
    path = metadata["heading_path"]
    if not wanted or wanted <= heading_names("".join(path[-1:])):
        return 1 if wanted else NOWHERE
    above = frozenset().union(*map(heading_names, (*path, *metadata.get("aliases", ()))))
    return 2 if wanted <= above else NOWHERE


def _is_of(own: Version, asked: Version) -> bool:
    """Return whether a page's version is the one asked for: 2.7 is one of 2.x, and 3.5.1 of v3.5."""
    return bool(own) and all(one == two or inf in (one, two) for one, two in zip(own, asked, strict=False))


def _parsed(text: str) -> Version:
    found = _NUMBERS.search(text)
    return tuple(inf if part in "xX" else int(part) for part in found[0].split(".")) if found else ()


def _path(section: Node) -> str:
    """Return a page's path without the folder that names its version."""
    version, source = section.metadata.get("version"), section.metadata["source"]
    return "/".join(part for part in source.split("/") if not version or version not in part)


def with_linked(
    passages: Sequence[Passage], question: str, *, store: DocumentStore, paths: Globs | None
) -> list[Passage]:
    """Return the passages and the sections to which their sentences refer by a code, ordered by score.

    An alarm's row names its procedure, whose steps have other words than a question about the alarm.

    Sentences with all names of the question, such as its row in a table, are read, too. A linked section's
    score is that of the sentence's passage (else the first one's) times the share of the question's content
    words in the sentence. If no sentence refers to a section, and the first section's heading begins with
    the question's names, passages without these names in a heading are left out. Raises `StoreError`.
    """
    terms, asked = content_terms(question), asked_names(question)
    read = [(hit.node, passage.score) for passage in passages[:LINKING_PASSAGES] for hit in passage.sentences]
    if asked and passages:
        rows = store.search(SearchRequest(" ".join(asked), None, CANDIDATES, paths)).bm25_sentences
        nodes = store.get_many([hit.node_id for hit in rows])
        read += [(node, passages[0].score) for node in nodes.values() if asked <= asked_names(node.text)]
    scores: dict[str, float] = {}
    for node, score in read:
        if not (own := names(node.text) - asked):
            continue
        found = sorted(own - names("\n".join(node.metadata["heading_path"])))
        covered = share(terms, leaf_terms(node))
        for code in found[:MOST_CODES] if covered >= LEAST_COVERAGE else ():
            scores[code] = max(score * covered, scores.get(code, 0.0))
    for term in store.lacking([f"#{code}" for code in scores]) if scores else ():  # no heading begins with it
        del scores[term.removeprefix("#")]
    if not scores:  # "section 2.2.1" is that section alone
        own = passages[0].section.metadata["heading_path"][-1:] if passages else []
        is_alone = bool(asked) and asked <= opening_names(own)
        return [one for one in passages if not is_alone or _nearness(one.section.metadata, asked) < NOWHERE]
    hits = store.search(SearchRequest(" ".join(scores), None, CANDIDATES, paths)).bm25_sections
    known = {section_id for passage in passages for section_id in passage.section_ids}
    linked = []
    for section in store.get_many([hit.node_id for hit in hits]).values():
        opening = opening_names(section.metadata["heading_path"])
        score = max((scores[code] for code in opening & scores.keys()), default=0.0)
        if score and section.node_id not in known:
            linked.append(Passage(section, (), merged=True, score=score))
    return sorted([*passages, *linked], key=lambda passage: -passage.score)
