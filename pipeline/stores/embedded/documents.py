"""Documents as rows: written, removed, listed and read.

Plain functions that take a connection, inside a transaction of their caller.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import time
from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

from pipeline.errors import UnknownDocument
from pipeline.nodes import Node, StoredNode
from pipeline.stores.base import (
    DocumentInfo,
    Manifest,
    NewDocument,
    Statistics,
    StoredDocument,
    Vector,
    check_manifest,
)
from pipeline.stores.embedded.database import as_json
from pipeline.stores.metadata import own_metadata, shared_metadata, to_json, whole_metadata

STORED_VECTORS = "<f2"
"""Half precision: half the file, and cosines within 0.0002 of those of float32."""

_INFO = "id, source, root, title, hash, sections, sentences, characters, indexed_at"
_LANGUAGES = """
    SELECT coalesce(json_extract(metadata, '$.language'), 'en'), count(*) FROM document
    GROUP BY 1 ORDER BY 2 DESC, 1
"""
NODES = """
    SELECT node.number, node.id, node.start, node.end, node.metadata, node.text,
           document.number, document.id, document.metadata, section.number, section.id, section.metadata
    FROM node JOIN document ON document.number = node.document
    LEFT JOIN node AS section ON section.number = node.section
"""
_CHILDREN = """
    SELECT section, id FROM node WHERE section IN (SELECT value FROM json_each(?)) ORDER BY number
"""


class State(NamedTuple):
    """The index's name, which a rebuild changes, and how often its documents have changed."""

    index_id: str
    generation: int


class Scored(NamedTuple):
    """A node that a derived index has found, by its number, with its score; higher is better."""

    number: int
    score: float


def read_state(connection: sqlite3.Connection) -> State:
    """The state as of now."""
    return State(*connection.execute("SELECT index_id, generation FROM state").fetchone())


def read_manifest(connection: sqlite3.Connection) -> Manifest | None:
    """What the index was made with; None where it has no document."""
    query = "SELECT manifest, generation FROM state WHERE EXISTS (SELECT 1 FROM document)"
    row = connection.execute(query).fetchone()
    return Manifest(**json.loads(row[0]) | {"generation": row[1]}) if row else None


def read_statistics(connection: sqlite3.Connection) -> Statistics:
    """How much is indexed: 3 ms at 2,000 documents."""
    (sentences,) = connection.execute("SELECT coalesce(sum(sentences), 0) FROM document").fetchone()
    languages = dict(connection.execute(_LANGUAGES).fetchall())
    return Statistics(sentences, languages, read_manifest(connection))


def list_infos(connection: sqlite3.Connection) -> list[DocumentInfo]:
    """All documents, by source."""
    rows = connection.execute(f"SELECT {_INFO} FROM document ORDER BY source")
    return [DocumentInfo(*row) for row in rows]


def read_document(connection: sqlite3.Connection, source: str) -> StoredDocument:
    """One document, whole; raises `UnknownDocument`."""
    query = f"SELECT number, text, {_INFO} FROM document WHERE source = ?"
    row = connection.execute(query, (source,)).fetchone()
    if row is None:
        raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
    number, text, *info = row
    sections = read_nodes(connection, "node.document = ? AND node.section IS NULL", number)
    return StoredDocument(DocumentInfo(*info), text, tuple(sections))


def read_nodes(connection: sqlite3.Connection, where: str, *given: object) -> list[StoredNode]:
    """The nodes that a condition selects, in reading order."""
    rows = connection.execute(f"{NODES} WHERE {where} ORDER BY node.number", given).fetchall()
    sections = [row[0] for row in rows if row[9] is None]
    children: dict[int, list[str]] = {number: [] for number in sections}
    for number, sentence_id in connection.execute(_CHILDREN, (as_json(sections),)) if sections else ():
        children[number].append(sentence_id)
    above: dict[int, dict[str, Any]] = {}  # the metadata of a section, for all its sentences
    return [_node(row, children.get(row[0], ()), above) for row in rows]


def document_numbers(connection: sqlite3.Connection) -> frozenset[int]:
    """The numbers of all documents: what a derived index compares itself with."""
    return frozenset(row[0] for row in connection.execute("SELECT number FROM document"))


def node_metadata(row: tuple[Any, ...], above: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """The metadata of a row of `NODES`; `above` keeps those of sections between calls."""
    own, shared, section, of_section = row[4], row[8], row[9], row[11]
    if section is None:
        return whole_metadata(own, json.loads(shared))
    if section not in above:
        above[section] = whole_metadata(of_section, json.loads(shared))
    return whole_metadata(own, above[section])


def _node(row: tuple[Any, ...], children: Collection[str], above: dict[int, dict[str, Any]]) -> StoredNode:
    _, node_id, start, end, _, text, _, document, _, _, section, _ = row
    metadata = node_metadata(row, above)
    if section is None:
        return StoredNode(node_id, text, metadata, start, end, document, sentence_ids=tuple(children))
    return StoredNode(node_id, text, metadata, start, end, document, section)


def begin_writing(connection: sqlite3.Connection, manifest: Manifest, *, rebuild: bool) -> None:
    """Check what the index was made with, or begin it anew; raises `ManifestMismatch`.

    An index without documents is begun anew with any manifest.
    """
    stored = read_manifest(connection)
    if stored is not None and not rebuild:
        check_manifest(stored, manifest)
        return
    connection.execute("DELETE FROM node")
    connection.execute("DELETE FROM embedding")
    connection.execute("UPDATE document SET sections = 0, sentences = 0, indexed_at = 0")
    connection.execute(
        "UPDATE state SET index_id = lower(hex(randomblob(16))), generation = generation + 1, manifest = ?",
        (json.dumps(asdict(manifest)),),
    )


def remove_document(connection: sqlite3.Connection, source: str) -> bool:
    """Delete a document with its nodes and vectors; False where there was none."""
    return connection.execute("DELETE FROM document WHERE source = ?", (source,)).rowcount > 0


def insert_document(connection: sqlite3.Connection, document: NewDocument) -> None:
    """Write a document's rows."""
    by_section = document.sentences_by_section()
    number = _take_numbers(connection, 1 + len(document.sections) + len(document.sentences))
    shared = shared_metadata(document.sections)
    about = (
        document.id, document.source, document.root, document.title, document.hash,
        len(document.sections), len(document.sentences), len(document.text), time.time(),
    )  # fmt: skip
    _insert(connection, "document", [(number, *about, document.text, to_json(shared))])
    numbers = itertools.count(number + 1)
    sections = [(next(numbers), section) for section in document.sections]
    sentences = [
        (next(numbers), own, node, section)
        for own, section in sections
        for node in by_section[section.node_id]
    ]
    rows: list[tuple[int, int | None, Node, str]] = [
        (own, None, node, own_metadata(node.metadata, shared)) for own, node in sections
    ]
    rows += [
        (own, of, node, own_metadata(node.metadata, section.metadata)) for own, of, node, section in sentences
    ]
    nodes = (
        (own, number, of, node.node_id, node.start_char_idx, node.end_char_idx, metadata, node.text)
        for own, of, node, metadata in rows
    )
    _insert(connection, "node", nodes)
    _insert(connection, "embedding", [(number, _packed(document.vector(node) for _, _, node, _ in rows))])


def count_change(connection: sqlite3.Connection) -> None:
    """Raise the generation, so that derived indexes catch up."""
    connection.execute("UPDATE state SET generation = generation + 1")


def _insert(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    listed = list(rows)
    if listed:
        marks = ", ".join("?" * len(listed[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", listed)


def _take_numbers(connection: sqlite3.Connection, count: int) -> int:
    """Reserve `count` numbers; the first of them."""
    query = "UPDATE state SET next_number = next_number + ? RETURNING next_number"
    return int(connection.execute(query, (count,)).fetchone()[0]) - count


def _packed(vectors: Iterable[Vector]) -> bytes:
    import numpy as np

    return np.asarray(list(vectors), dtype=STORED_VECTORS).tobytes()
