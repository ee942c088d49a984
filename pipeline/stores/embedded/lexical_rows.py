"""What the lexical index is derived from: the analysed text of every node, read from SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator
from typing import Any

from pipeline.analysis import lexical_terms
from pipeline.stores.base import Level
from pipeline.stores.embedded.node_rows import ROW, check_node, metadata_of_sections
from pipeline.stores.metadata import read_sentence

LexicalRow = tuple[int, int, str]  # number of the node, number of its document, terms separated by blanks

_OF_BUILD: dict[Level, str] = {
    "section": f"SELECT {ROW['section']} FROM section WHERE build = ? ORDER BY number",
    "sentence": f"SELECT {ROW['sentence']} FROM sentence WHERE build = ? ORDER BY number",
}
_OF_DOCUMENTS: dict[Level, str] = {
    "section": f"""
        SELECT {ROW["section"]} FROM section
        WHERE document IN (SELECT value FROM json_each(?)) ORDER BY number
    """,
    "sentence": f"""
        SELECT {ROW["sentence"]}
        FROM section JOIN sentence ON sentence.section = section.number
        WHERE section.document IN (SELECT value FROM json_each(?)) ORDER BY sentence.number
    """,
}


def rows_of_build(connection: sqlite3.Connection, level: Level, build: int | None) -> Iterator[LexicalRow]:
    """All nodes of a build, by number."""
    return _rows(connection, level, _OF_BUILD[level], build)


def rows_of_documents(
    connection: sqlite3.Connection, level: Level, documents: Collection[int]
) -> Iterator[LexicalRow]:
    """All nodes of some documents, by number."""
    return _rows(connection, level, _OF_DOCUMENTS[level], json.dumps(sorted(documents)))


def _rows(
    connection: sqlite3.Connection, level: Level, query: str, parameter: int | str | None
) -> Iterator[LexicalRow]:
    """Of a sentence the headings that are indexed with it stand in its section."""
    number_above, above = None, dict[str, Any]()
    for row in connection.execute(query, (parameter,)):
        check_node(level, row)
        number, _, document = row[:3]
        own, text = row[-3:-1]
        if level == "sentence" and row[3] != number_above:
            number_above, above = row[3], metadata_of_sections(connection, [row[3]], set())[row[3]]
        yield number, document, lexical_terms(text, read_sentence(above, own))
