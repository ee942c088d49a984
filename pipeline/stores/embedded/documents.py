"""Documents as rows: functions that write, remove, list and read them.

Each takes a connection on which its caller has begun a transaction.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple
from functools import lru_cache
from typing import Any, NamedTuple

from pipeline.nodes import Node, StoredNode
from pipeline.stores.base import Hit, Manifest, NewDocument, check_manifest, own_metadata, whole_metadata
from pipeline.stores.embedded.database import as_json
from pipeline.stores.globs import Globs, matches

STORED_VECTORS = "<f2"
"""Half precision: half the file, and cosines within 0.0002 of those of float32."""

INFO = "id, source, root, title, hash, sections, sentences, characters, indexed_at"
LANGUAGES = "SELECT language, count(*), sum(sentences) FROM document GROUP BY 1 ORDER BY 2 DESC, 1"
NODES = """
    SELECT node.number, node.id, node.start, node.end, node.metadata, node.text,
           document.number, document.id, section.id, section.metadata
    FROM node JOIN document ON document.number = node.document
    LEFT JOIN node AS section ON section.number = node.section
"""
_CHILDREN = """
    SELECT section, id FROM node WHERE section IN (SELECT value FROM json_each(?)) ORDER BY number
"""
BY_ID = "node.id IN (SELECT value FROM json_each(?))"
# CROSS JOIN keeps SQLite from reading all nodes instead (12 ms at 100,000 sentences).
_IDS = """
    SELECT node.number, node.id, coalesce(section.id, node.id)
    FROM json_each(?) CROSS JOIN node ON node.number = value
    LEFT JOIN node AS section ON section.number = node.section
"""

_parsed = lru_cache(maxsize=256)(json.loads)
"""Parses the metadata of a section, whose sentences are often read together."""


class State(NamedTuple):
    """The index's id, which a rebuild changes, and a number that rises with every change of a document."""

    index_id: str
    generation: int


class Scored(NamedTuple):
    """The number of a node that a derived index has found, and its score; higher is better."""

    number: int
    score: float


def read_state(connection: sqlite3.Connection) -> State:
    """Return the current state."""
    return State(*connection.execute("SELECT index_id, generation FROM state").fetchone())


def read_manifest(connection: sqlite3.Connection) -> Manifest | None:
    """Return the manifest of the index, None if it has no document."""
    query = "SELECT manifest FROM state WHERE EXISTS (SELECT 1 FROM document)"
    row = connection.execute(query).fetchone()
    return Manifest(**json.loads(row[0])) if row else None


def read_nodes(connection: sqlite3.Connection, where: str, *given: object) -> list[StoredNode]:
    """Return the nodes that an SQL condition with the parameters `given` selects, in reading order."""
    rows = connection.execute(f"{NODES} WHERE {where} ORDER BY node.number", given).fetchall()
    sections = [row[0] for row in rows if row[8] is None]
    children: dict[int, list[str]] = {number: [] for number in sections}
    for number, sentence_id in connection.execute(_CHILDREN, (as_json(sections),)) if sections else ():
        children[number].append(sentence_id)
    return [_node(row, tuple(children.get(row[0], ()))) for row in rows]


def document_numbers(connection: sqlite3.Connection, globs: Globs | None = None) -> frozenset[int]:
    """Return the numbers of all documents, or of those whose source a glob matches."""
    rows = connection.execute("SELECT number, source FROM document")
    return frozenset(number for number, source in rows if globs is None or matches(source, globs))


def node_metadata(row: tuple[Any, ...]) -> dict[str, Any]:
    """Return the whole metadata of the node in a row of `NODES`."""
    return whole_metadata(row[4], _parsed(row[9]) if row[9] else {})


def rankings(connection: sqlite3.Connection, *found: Sequence[Scored]) -> list[tuple[Hit, ...]]:
    """Return a ranking of hits for each list of found nodes; nodes that are no longer stored are dropped."""
    numbers = {number for scored in found for number, _ in scored}
    rows = connection.execute(_IDS, (as_json(sorted(numbers)),))
    ids = {number: (node_id, section_id) for number, node_id, section_id in rows}
    return [tuple([Hit(*ids[number], score) for number, score in one if number in ids]) for one in found]


def _node(row: tuple[Any, ...], children: tuple[str, ...]) -> StoredNode:
    _, node_id, start, end, _, text, _, document, section, _ = row
    return StoredNode(node_id, text, node_metadata(row), start, end, document, section or "", children)


def begin_writing(connection: sqlite3.Connection, manifest: Manifest, *, rebuild: bool) -> None:
    """Check the manifest of the index, or begin the index anew; raises `ManifestMismatch`.

    With `rebuild`, or without documents, it is begun anew: nodes and vectors are deleted, texts stay.
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
    """Delete a document with its nodes and vectors; return False if there was none."""
    connection.execute("UPDATE state SET generation = generation + 1")  # derived indexes catch up
    return connection.execute("DELETE FROM document WHERE source = ?", (source,)).rowcount > 0


def insert_document(connection: sqlite3.Connection, document: NewDocument) -> None:
    """Write a document's rows; no document of the same source may be stored."""
    import numpy as np

    by_section = document.sentences_by_section()
    count = 1 + len(document.sections) + len(document.sentences)
    taken = "UPDATE state SET next_number = next_number + ? RETURNING next_number"
    number = connection.execute(taken, (count,)).fetchone()[0] - count
    about = (number, *astuple(document.info), document.text, document.language)
    connection.execute(f"INSERT INTO document VALUES ({', '.join('?' * len(about))})", about)
    numbers = itertools.count(number + 1)
    sections = [(next(numbers), section) for section in document.sections]
    rows: list[tuple[int, int | None, Node, Mapping[str, Any]]] = [
        (own, None, node, {}) for own, node in sections
    ]
    rows += [
        (next(numbers), of, node, section.metadata)
        for of, section in sections
        for node in by_section[section.node_id]
    ]
    nodes = (
        (own, number, of, node.node_id, node.start_char_idx, node.end_char_idx,
         own_metadata(node.metadata, above), node.text)
        for own, of, node, above in rows
    )  # fmt: skip
    connection.executemany("INSERT INTO node VALUES (?, ?, ?, ?, ?, ?, ?, ?)", nodes)
    vectors = [document.vectors[node.node_id] for _, _, node, _ in rows]
    packed = np.asarray(vectors, dtype=STORED_VECTORS).tobytes()
    connection.execute("INSERT INTO embedding VALUES (?, ?)", (number, packed))
