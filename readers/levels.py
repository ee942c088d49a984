"""Blocks and headings of Markdown; sections and their sentences, with ids that a new ingest does not change.

document = uuid5(source); section = uuid5(document, heading path, occurrence);
sentence = uuid5(section, position).

The attributes have the names of LlamaIndex's `TextNode`. That class is not used, because importing it takes
longer than reading a whole book; `readers/llamaindex.py` converts to it.
"""

from __future__ import annotations

import functools
import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid5

NAMESPACE = UUID("7a1f0c52-3c0e-5d8b-9a43-6f1f2b6f5e11")
"""The namespace of Athena's document ids; changing it changes every id in every index."""
INHERITED = ("source", "title", "heading_path", "aliases", "keywords", "language")
"""Metadata that a sentence copies from its section."""
NEWLINE = re.compile(r"\r\n?|\n")
"""CommonMark's three line endings."""


class Kind(StrEnum):
    """The kind of a block, which decides how it is cut into leaves."""

    PROSE = "prose"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a list item, a table row or the inside of a code block: `text[start:end]`."""

    kind: Kind
    start: int
    end: int
    header: str | None = None
    """Text of the table's header row, for a row below it."""
    quotes: int = 0
    """How many block quotes enclose the block; its second and later lines begin with up to as many `>`."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading outside of lists and quotes; its lines are `text[start:end]`."""

    level: int
    title: str
    start: int
    end: int


def line_starts(text: str) -> Sequence[int]:
    """Return the start offsets of a text's lines; `bisect_right(starts, offset)` is the line, from 1."""
    return array("q", [0, *(newline.end() for newline in NEWLINE.finditer(text))])


@dataclass(frozen=True, slots=True)
class Section:
    """The text under one heading; offsets count characters of the file's text, without a byte order mark.

    `blocks` are the blocks of `text`, with offsets in the file; None if `text` has not been parsed.
    """

    node_id: str
    text: str
    metadata: Mapping[str, Any]
    start_char_idx: int
    end_char_idx: int
    document_id: str
    blocks: tuple[Block, ...] | None = None
    section_id: str = ""  # always empty: a section is in no other section


@dataclass(frozen=True, slots=True)
class Sentence:
    """A leaf of a section: a sentence, a list item, a table row or code; offsets count in the file's text."""

    node_id: str
    text: str
    metadata: Mapping[str, Any]
    start_char_idx: int
    end_char_idx: int
    section_id: str


def build_sentences(section: Section, leaves: Sequence[Block]) -> list[Sentence]:
    """Return a sentence for each leaf, in order; the offsets of `leaves` count in `section.text`."""
    above, lines = section.metadata, line_starts(section.text)
    before = int(above.get("start_line", 1)) - 1
    inherited = {key: above[key] for key in INHERITED if key in above}
    sentences = []
    for position, leaf in enumerate(leaves):
        text, shown = section.text[leaf.start : leaf.end], above.get("shown", "")[leaf.start : leaf.end]
        own = {"position": position, "kind": leaf.kind.value}
        own["start_line"] = before + bisect_right(lines, leaf.start)
        own["end_line"] = before + bisect_right(lines, leaf.end - 1)
        more = {"header": leaf.header, "shown": shown if shown != text else None}
        metadata = inherited | own | {key: value for key, value in more.items() if value}
        start, end = section.start_char_idx + leaf.start, section.start_char_idx + leaf.end
        node_id = sentence_id(section.node_id, position)
        sentences.append(Sentence(node_id, text, metadata, start, end, section.node_id))
    return sentences


def document_id(source: str) -> str:
    """Return the id of the document at `source`, its path relative to the corpus root."""
    return _id(str(NAMESPACE), source)


def section_id(document_id: str, heading_path: Sequence[str], occurrence: int) -> str:
    """Return the id of a section; `occurrence` is the number of earlier sections with the same path."""
    return _id(document_id, list(heading_path), occurrence)


def sentence_id(section_id: str, position: int) -> str:
    """Return the id of the leaf at `position` (from 0) in a section."""
    return _id(section_id, position)


@functools.lru_cache(maxsize=64)
def _namespace(node_id: str) -> UUID:
    """Return an id as a UUID; ids from elsewhere may not be UUIDs and are hashed to one."""
    try:
        return UUID(node_id)
    except ValueError:
        return uuid5(NAMESPACE, json.dumps(node_id))


def _id(above: str, *parts: object) -> str:
    # JSON keeps ["a", "b"] apart from ["a/b"], and its ASCII escapes survive lone surrogates.
    return str(uuid5(_namespace(above), json.dumps(parts)))
