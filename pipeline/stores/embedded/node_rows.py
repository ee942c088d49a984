"""From rows to nodes: the queries, what their columns mean, and whether a row is as it was written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from pipeline.nodes import StoredNode
from pipeline.stores.base import Level
from pipeline.stores.embedded.checksums import Damaged, check_row, is_sound
from pipeline.stores.embedded.schema import SECTION_CHECKED, SENTENCE_CHECKED
from pipeline.stores.metadata import read_section, read_sentence


def _columns(table: str, checked: str) -> str:
    """The columns that a checksum is of, and the checksum."""
    return ", ".join(f"{table}.{name.strip()}" for name in (*checked.split(","), "checksum"))


ROW: Mapping[Level, str] = {
    "section": _columns("section", SECTION_CHECKED),
    "sentence": _columns("sentence", SENTENCE_CHECKED),
}
"""What every query of nodes begins with."""

_WIDTH: Mapping[Level, int] = {level: columns.count(",") + 1 for level, columns in ROW.items()}

_SECTIONS = f"""
    SELECT {ROW["section"]}, document.id, document.metadata, document.metadata_checksum
    FROM section JOIN document ON document.number = section.document
    WHERE
"""
_SENTENCES = f"""
    SELECT {ROW["sentence"]}, document.id, section.id
    FROM sentence
    JOIN section ON section.number = sentence.section
    JOIN document ON document.number = sentence.document
    WHERE
"""
_GIVEN = "IN (SELECT value FROM json_each(?))"
SECTIONS_BY_ID = f"{_SECTIONS} section.build = ? AND section.id {_GIVEN}"
SECTIONS_OF_DOCUMENT = f"{_SECTIONS} document.build = ? AND document.source = ? ORDER BY section.number"
SENTENCES_BY_ID = f"{_SENTENCES} sentence.build = ? AND sentence.id {_GIVEN}"
SENTENCES_OF_SECTIONS = f"{_SENTENCES} section.build = ? AND section.id {_GIVEN} ORDER BY sentence.number"
_SECTIONS_BY_NUMBER = f"{_SECTIONS} section.number {_GIVEN} ORDER BY section.number"
_SENTENCES_BY_SECTION = f"{_SENTENCES} sentence.section {_GIVEN} ORDER BY sentence.number"
_CHILDREN = f"SELECT section, id FROM sentence WHERE section {_GIVEN} ORDER BY number"

Known = set[int]
"""The numbers of rows that were as they were written when they were first read: no number is given twice."""

NodeRow = tuple[Any, ...]


def node_is_sound(level: Level, row: NodeRow) -> bool:
    """True where a row that begins with `ROW` is as it was written."""
    width = _WIDTH[level]
    return is_sound(row[: width - 1], row[width - 1])


def check_node(level: Level, row: NodeRow) -> None:
    """Raise `Damaged` where a row that begins with `ROW` is not as it was written."""
    if not node_is_sound(level, row):
        raise Damaged(f"a row of the table '{level}' is not as it was written")


def section_nodes(connection: sqlite3.Connection, rows: Iterable[NodeRow], known: Known) -> list[StoredNode]:
    """Sections of the rows of a `SECTIONS…` query, each with its document and its sentences.

    Raises `Damaged` for one that is not yet `known` and not as it was written.
    """
    found = list(rows)
    sentences: dict[int, list[str]] = {}
    numbers = json.dumps([row[0] for row in found])
    for section, sentence_id in connection.execute(_CHILDREN, (numbers,)):
        sentences.setdefault(section, []).append(text_of(sentence_id))
    return [_section(row, tuple(sentences.get(row[0], ())), known) for row in found]


def sentence_nodes(connection: sqlite3.Connection, rows: Iterable[NodeRow], known: Known) -> list[StoredNode]:
    """Sentences of the rows of a `SENTENCES…` query, each with its document and its section.

    Raises `Damaged` for one that is not yet `known` and not as it was written.
    """
    found = list(rows)
    for row in found:
        if row[0] not in known:
            check_node("sentence", row)
            known.add(row[0])
    sections = metadata_of_sections(connection, {row[3] for row in found}, known)
    return [_sentence(row, sections[row[3]]) for row in found]


def metadata_of_sections(
    connection: sqlite3.Connection, numbers: Collection[int], known: Known
) -> dict[int, dict[str, Any]]:
    """The metadata of some sections, by number; raises `Damaged` where one is not there."""
    rows = connection.execute(_SECTIONS_BY_NUMBER, (json.dumps(list(numbers)),))
    found = {row[0]: _metadata(row, known) for row in rows}
    if not found.keys() >= set(numbers):
        raise Damaged("a sentence is there without its section")
    return found


def text_of(value: object) -> str:
    """A value that was written as text; raises `Damaged` where it is none any more."""
    if not isinstance(value, str):
        raise Damaged(f"{value!r:.40} stands where text was written")
    return value


class NumberedSection(NamedTuple):
    """A section with its sentences, which are numbered from `first_sentence`."""

    number: int
    node: StoredNode
    first_sentence: int
    sentences: tuple[StoredNode, ...]


def numbered_sections(connection: sqlite3.Connection, numbers: Iterable[int]) -> list[NumberedSection]:
    """Sections by number, in that order, with their sentences; raises `Damaged`."""
    known = Known()
    wanted = json.dumps(list(numbers))
    rows: dict[int, list[NodeRow]] = {}
    for row in connection.execute(_SENTENCES_BY_SECTION, (wanted,)):
        rows.setdefault(row[3], []).append(row)
    sections = connection.execute(_SECTIONS_BY_NUMBER, (wanted,)).fetchall()
    return [
        NumberedSection(
            number=section[0],
            node=_section(section, (), known),
            first_sentence=own[0][0] if (own := rows.get(section[0], [])) else section[0],
            sentences=tuple(sentence_nodes(connection, own, known)),
        )
        for section in sections
    ]


def _section(row: NodeRow, sentence_ids: tuple[str, ...], known: Known) -> StoredNode:
    metadata = _metadata(row, known)
    _, _, _, node_id, start, end, _, text, _, document_id = row[:10]
    return StoredNode(node_id, text, metadata, start, end, document_id, sentence_ids=sentence_ids)


def _metadata(row: NodeRow, known: Known) -> dict[str, Any]:
    """The metadata of a section's row, whole; raises `Damaged`."""
    document, stored = row[-2:]
    if row[0] not in known:
        check_node("section", row)
        check_row("document", (document,), stored)
        known.add(row[0])
    return read_section(document, row[6])


def _sentence(row: NodeRow, section: Mapping[str, Any]) -> StoredNode:
    _, _, _, _, node_id, start, end, own, text, _, document_id, section_id = row
    return StoredNode(node_id, text, read_sentence(section, own), start, end, document_id, section_id)
