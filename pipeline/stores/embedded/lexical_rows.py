"""What the lexical index is derived from: the analysed text of every node, read from SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator
from typing import Any

from pipeline.analysis import lexical_terms
from pipeline.stores.base import Level
from pipeline.stores.embedded.metadata import read_sentence
from pipeline.stores.embedded.node_rows import metadata_of_sections

LexicalRow = tuple[int, int, str]  # number of the node, number of its document, terms separated by blanks

# Of a sentence also its section: the headings that are indexed with it stand there.
_OF_BUILD: dict[Level, str] = {
    "section": "SELECT number, document, metadata, text, NULL FROM section WHERE build = ? ORDER BY number",
    "sentence": """
        SELECT number, document, metadata, text, section FROM sentence WHERE build = ? ORDER BY number
    """,
}
_OF_DOCUMENTS: dict[Level, str] = {
    "section": """
        SELECT number, document, metadata, text, NULL FROM section
        WHERE document IN (SELECT value FROM json_each(?)) ORDER BY number
    """,
    "sentence": """
        SELECT sentence.number, sentence.document, sentence.metadata, sentence.text, sentence.section
        FROM section JOIN sentence ON sentence.section = section.number
        WHERE section.document IN (SELECT value FROM json_each(?)) ORDER BY sentence.number
    """,
}


def rows_of_build(connection: sqlite3.Connection, level: Level, build: int | None) -> Iterator[LexicalRow]:
    """All nodes of a build, by number."""
    return _rows(connection, _OF_BUILD[level], build)


def rows_of_documents(
    connection: sqlite3.Connection, level: Level, documents: Collection[int]
) -> Iterator[LexicalRow]:
    """All nodes of some documents, by number."""
    return _rows(connection, _OF_DOCUMENTS[level], json.dumps(sorted(documents)))


def _rows(connection: sqlite3.Connection, query: str, parameter: int | str | None) -> Iterator[LexicalRow]:
    number_above, above = None, dict[str, Any]()
    for number, document, own, text, section in connection.execute(query, (parameter,)):
        if section != number_above:
            number_above, above = section, metadata_of_sections(connection, [section])[section]
        yield number, document, lexical_terms(text, read_sentence(above, own))
