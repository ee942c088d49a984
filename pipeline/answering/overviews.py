"""Summarise: the outline of a document or section that is named, with the first sentence of each part.

The topic's words are looked for in headings; what stands below the best one is the outline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath

from pipeline.answer import Passage, Retrieval, Unit
from pipeline.answering.citations import escaped_markers
from pipeline.answering.quotes import Quote, quote_of
from pipeline.answering.replies import Arranged, quote_citations
from pipeline.answering.section_blocks import ends_with_colon
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore
from pipeline.terms import content_terms
from readers.dialects import display, mask

MOST_LINES = 10  # a screen of them; the rest is counted
ENOUGH = 0.6  # share of the topic's words that a heading and those above it must have
MOST_WORDS = 40  # of a line: two lines on a screen
FEWEST_WORDS = 3  # "**Symptoms.**" is a label, "Bake the bed." says something
CONTENTS = re.compile(r"(?:\d+\.|[-*+])\s+TOC\W*")  # stands where Jekyll writes the table of contents
BY_LABEL = re.compile(r"\[([^\[\]]+)\]\[[^\[\]]*[A-Za-z][^\[\]]*\]")
"""A link whose address stands elsewhere in its file."""
LOOKED_AT = 3  # sections of a part in which its first sentence is looked for

_ASKING = re.compile(
    r"^\W*(?:(?:please|can you|could you|would you|give me|show me|write|make|i (?:want|need|would like)|"
    r"me|an?|the|short|brief|quick|rough|summari[sz]e|summary|overview|outline|sum up|tell me (?:all |more )?"
    r"about|of|on|over|about|for)\b\W*)+",
    re.IGNORECASE,
)

HeadingPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One part of an outline: its heading ("" for what stands before the first part) and its quote."""

    heading: str
    quote: Quote
    more: int = 0  # items or rows of the same list or table that are not quoted


@dataclass(frozen=True, slots=True)
class Outline:
    """A document or section and its parts, in the document's order."""

    source: str
    path: HeadingPath
    lines: tuple[Line, ...]
    more: int = 0  # parts that are not shown


@dataclass(frozen=True, slots=True)
class _Topic:
    """One heading of a document with the sections that stand under it."""

    path: HeadingPath
    sections: tuple[Node, ...]
    words: frozenset[str]  # of its own heading
    above: frozenset[str]  # of the headings above it and of the file's path

    def coverage(self, terms: Sequence[str]) -> float:
        """The share of the terms in it or above it; 0 where its own heading has none."""
        if not self.words & set(terms):
            return 0.0
        return sum(term in self.words or term in self.above for term in terms) / len(terms)

    def has(self, terms: frozenset[str]) -> bool:
        """Whether all of the terms stand in it or above it."""
        return terms <= self.words | self.above

    def precision(self, terms: Sequence[str]) -> float:
        """The share of its own words that are among the terms."""
        return len(self.words & set(terms)) / len(self.words)


def topic_of(question: str) -> str:
    """What is to be summarised: the question without its "give me an overview of"."""
    return _ASKING.sub("", question).strip(" ?.!\n\t")


def outline_of(question: str, retrieval: Retrieval, *, store: DocumentStore) -> Outline | None:
    """The outline of what the question names; None where no heading names it, or it has a single part."""
    terms = content_terms(topic_of(question))
    if not terms:
        return None
    topics = [
        (source, topic)
        for source in _sources(terms, retrieval, store)
        for topic in _topics(source, store.sections.document(source).sections)
    ]
    # No word is left out that names another topic: the thermal system is not the environmental one.
    named = frozenset(terms) & frozenset().union(*(topic.words for _, topic in topics))
    found = [
        (source, topic)
        for source, topic in topics
        if len(topic.sections) > 1 and topic.coverage(terms) >= ENOUGH and topic.has(named)
    ]
    if not found:
        return None
    scores = {passage.section.node_id: passage.score for passage in retrieval.passages}
    source, topic = max(
        found,
        key=lambda item: (
            item[1].coverage(terms),
            -len(item[1].path),  # as much in a heading above: that one, with all that is under it
            item[1].precision(terms),
            sum(scores.get(section.node_id, 0.0) for section in item[1].sections),
        ),
    )
    lines = list(_lines(topic, store))
    if len(lines) < 2:
        return None
    return Outline(source, topic.path, tuple(lines[:MOST_LINES]), max(0, len(lines) - MOST_LINES))


def outlined(
    retrieval: Retrieval, *, store: DocumentStore, file_hashes: Mapping[str, str]
) -> Arranged | None:
    """The outline as an answer; None where `outline_of` finds none."""
    outline = outline_of(retrieval.question, retrieval, store=store)
    if outline is None:
        return None
    quotes = tuple(line.quote for line in outline.lines)
    units = tuple(_unit(line, marker) for marker, line in enumerate(outline.lines, start=1))
    return Arranged(outline_text(outline), quotes, quote_citations(quotes, file_hashes), units, "answered")


def _unit(line: Line, marker: int) -> Unit:
    """How a line's quote is shown: a row with its table's header, everything else as it stands."""
    quote = line.quote
    header = quote.best.metadata.get("header", "") if quote.kind == "table" else ""
    lead = quote.lead or header
    return Unit(marker, quote.kind, quote.start, quote.end, lead=lead, left_out_after=line.more)


def outline_text(outline: Outline) -> str:
    """The outline as Markdown, each line with its marker."""
    parts = [f"**{' › '.join(outline.path) or outline.source}**", ""]
    for marker, line in enumerate(outline.lines, start=1):
        label = f"**{line.heading}**: " if line.heading else ""
        parts.append(f"- {label}{escaped_markers(_on_one_line(line))} [{marker}]")
    if outline.more:
        parts += ["", f"… {outline.more} more {'section' if outline.more == 1 else 'sections'}"]
    return "\n".join(parts)


def _sources(terms: Sequence[str], retrieval: Retrieval, store: DocumentStore) -> list[str]:
    """The documents of the passages, and those whose title has all the terms."""
    found = [passage.section.metadata["source"] for passage in retrieval.passages]
    titled = [
        info.source for info in store.sections.documents() if set(terms) <= set(content_terms(info.title))
    ]
    return list(dict.fromkeys([*found, *titled]))


def _topics(source: str, sections: Sequence[Node]) -> Iterator[_Topic]:
    """Every heading of a document with all that stands under it."""
    under: dict[HeadingPath, list[Node]] = {}
    for section in sections:
        path = _path(section)
        for depth in range(1, len(path) + 1):
            under.setdefault(path[:depth], []).append(section)
    file = frozenset(content_terms(" ".join(PurePosixPath(source).with_suffix("").parts)))
    for path, members in under.items():
        own = frozenset(content_terms(path[-1]))
        above = file.union(*(content_terms(heading) for heading in path[:-1]))
        yield _Topic(path, tuple(members), own, above)


def _lines(topic: _Topic, store: DocumentStore) -> Iterator[Line]:
    """The first sentence of the topic itself and of each part under it, in order."""
    parts = _parts(topic)
    while len(parts) == 1:  # one part alone: its own parts
        (path, members), *_ = parts.items()
        if len(members) == 1 or path == topic.path:
            break
        topic = _Topic(path, tuple(members), topic.words, topic.above)
        parts = _parts(topic)
    read = [section for members in parts.values() for section in members[:LOOKED_AT]]
    leaves = store.sentences.of_sections([section.node_id for section in read])
    for path, members in parts.items():
        line = _first(path[-1] if path != topic.path else "", members[:LOOKED_AT], leaves)
        if line:
            yield line


def _parts(topic: _Topic) -> dict[HeadingPath, list[Node]]:
    """The sections of a topic by the heading next under it; its own text under its own path."""
    parts: dict[HeadingPath, list[Node]] = {}
    for section in topic.sections:
        parts.setdefault(_path(section)[: len(topic.path) + 1], []).append(section)
    return parts


def _first(heading: str, sections: Iterable[Node], leaves: Mapping[str, Sequence[Node]]) -> Line | None:
    """What some sections say first: a sentence, a table, or the first item of a list with its lead-in."""
    for section in sections:
        own = leaves.get(section.node_id, ())
        for place, leaf in enumerate(own):
            if _tells(leaf):
                kind = leaf.metadata["kind"]
                led = kind == "list_item" and place > 0 and _introduces(own[place - 1])
                shown = own[place - 1 : place + 1] if led else own[place : place + 1]
                passage = Passage(section, (), merged=False, score=0.0)
                more = 0 if kind == "prose" else _run(own[place + 1 :], kind)
                return Line(heading, quote_of(passage, shown), more)
    return None


def _tells(leaf: Node) -> bool:
    """True for what is neither a label nor an introduction, nor the place of a table of contents."""
    if CONTENTS.fullmatch(leaf.text.strip()):
        return False
    lone = leaf.metadata["kind"] == "prose" and len(leaf.text.split()) < FEWEST_WORDS
    return not lone and not _introduces(leaf)


def _introduces(leaf: Node) -> bool:
    return bool(leaf.metadata["kind"] == "prose" and ends_with_colon(leaf.text))


def _run(leaves: Iterable[Node], kind: str) -> int:
    """How many leaves of a kind come in a row."""
    return sum(1 for _ in takewhile(lambda leaf: leaf.metadata["kind"] == kind, leaves))


def _path(section: Node) -> HeadingPath:
    return tuple(section.metadata["heading_path"])


def _on_one_line(line: Line) -> str:
    """A quote on one line: a table by its columns, code by its first line, a long sentence cut."""
    kind = line.quote.leaves[-1].metadata["kind"]
    words = BY_LABEL.sub(r"\1", display(mask(line.quote.text))).split()
    flat = " ".join(words[:MOST_WORDS]) + (" …" if len(words) > MOST_WORDS else "")
    if kind == "code":
        return f"`{line.quote.text.strip().splitlines()[0].strip('` ')}` …"
    if kind == "table_row":
        cells = [cell.strip() for cell in flat.strip("|").split("|") if cell.strip()]
        return f"a table of {', '.join(cells)}"
    return f"{flat} … {line.more} more" if kind == "list_item" and line.more else flat
