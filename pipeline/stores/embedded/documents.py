"""Documents as rows: written, removed and listed; builds begun, made visible and dropped.

Plain functions that take a connection, inside a transaction of their caller.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import time
from collections.abc import Collection, Iterable
from dataclasses import astuple, replace
from typing import NamedTuple

from pipeline.errors import UnknownDocument
from pipeline.nodes import Node
from pipeline.stores.base import DocumentInfo, Manifest, NewDocument, Statistics, Vector
from pipeline.stores.metadata import document_metadata, section_metadata, sentence_metadata

STORED_VECTORS = "<f2"
"""Half precision: half the file, and cosines within 0.0002 of those of float32."""

_MADE_WITH = "format, embedding_model, dimensions, splitter, fingerprint, recipe"  # fields of `Manifest`
_INFO = """
    SELECT id, source, root, title, hash, sections, sentences, characters, indexed_at FROM document
"""
_LANGUAGES = """
    SELECT coalesce(json_extract(metadata, '$.language'), 'en'), count(*) FROM document
    WHERE build = ? GROUP BY 1 ORDER BY 2 DESC, 1
"""
_TOTALS = """
    SELECT count(*), coalesce(sum(sections), 0), coalesce(sum(sentences), 0) FROM document WHERE build = ?
"""


class State(NamedTuple):
    """Which build is visible (None before the first), and how often the visible build has changed."""

    store: str
    visible: int | None
    generation: int


class Scored(NamedTuple):
    """A node that a derived index has found, by its number, with its score; higher is better."""

    number: int
    score: float


def read_state(connection: sqlite3.Connection) -> State:
    """The state as of now."""
    return State(*connection.execute("SELECT store, visible, generation FROM state").fetchone())


def read_manifest(connection: sqlite3.Connection, state: State) -> Manifest | None:
    """What the visible build was made with; None where it has no document."""
    row = connection.execute(
        f"SELECT {_MADE_WITH} FROM manifest WHERE build = ?1 "
        "AND EXISTS (SELECT 1 FROM document WHERE document.build = ?1)",
        (state.visible,),
    ).fetchone()
    return replace(Manifest(*row), generation=state.generation) if row else None


def read_statistics(connection: sqlite3.Connection, state: State) -> Statistics:
    """How much the visible build has: 3 ms at 2,000 documents."""
    documents, sections, sentences = connection.execute(_TOTALS, (state.visible,)).fetchone()
    languages = dict(connection.execute(_LANGUAGES, (state.visible,)).fetchall())
    return Statistics(documents, sections, sentences, languages)


def list_infos(connection: sqlite3.Connection, build: int | None) -> list[DocumentInfo]:
    """The documents of a build, by source."""
    return [
        DocumentInfo(*row) for row in connection.execute(f"{_INFO} WHERE build = ? ORDER BY source", (build,))
    ]


def find_info(connection: sqlite3.Connection, build: int | None, source: str) -> DocumentInfo:
    """One document of a build; raises `UnknownDocument`."""
    row = connection.execute(f"{_INFO} WHERE build = ? AND source = ?", (build, source)).fetchone()
    if row is None:
        raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
    return DocumentInfo(*row)


def document_numbers(connection: sqlite3.Connection, build: int | None) -> frozenset[int]:
    """The numbers of a build's documents: what a derived index compares itself with."""
    return frozenset(
        row[0] for row in connection.execute("SELECT number FROM document WHERE build = ?", (build,))
    )


# -- builds -------------------------------------------------------------------------------------------


def begin_build(connection: sqlite3.Connection, manifest: Manifest) -> int:
    """The number of a new build, empty and not visible."""
    cursor = connection.execute(
        f"INSERT INTO manifest ({_MADE_WITH}) VALUES (?, ?, ?, ?, ?, ?)", _made_with(manifest)
    )
    return int(cursor.lastrowid or 0)


def pending_build(connection: sqlite3.Connection, manifest: Manifest) -> int | None:
    """The build that an interrupted rebuild with this manifest left, if there is one."""
    row = connection.execute(
        f"SELECT build FROM manifest WHERE ({_MADE_WITH}) = (?, ?, ?, ?, ?, ?) "
        "AND build IS NOT (SELECT visible FROM state) ORDER BY build DESC",
        _made_with(manifest),
    ).fetchone()
    return int(row[0]) if row else None


def show_build(connection: sqlite3.Connection, build: int) -> None:
    """Make a build the visible one, and delete all others."""
    connection.execute("UPDATE state SET visible = ?, generation = generation + 1", (build,))
    drop_builds_except(connection, [build])


def drop_builds_except(connection: sqlite3.Connection, builds: Collection[int]) -> None:
    """Delete all builds but these, with their documents."""
    for (build,) in connection.execute("SELECT build FROM manifest").fetchall():
        if build not in builds:
            connection.execute("DELETE FROM document WHERE build = ?", (build,))
            connection.execute("DELETE FROM manifest WHERE build = ?", (build,))


# -- documents ----------------------------------------------------------------------------------------


def remove_document(connection: sqlite3.Connection, build: int, source: str) -> bool:
    """Delete a document with its sections, sentences and vectors; False where there was none."""
    done = connection.execute("DELETE FROM document WHERE build = ? AND source = ?", (build, source))
    return done.rowcount > 0


def insert_document(connection: sqlite3.Connection, build: int, document: NewDocument) -> None:
    """Write a document's rows."""
    by_section = document.sentences_by_section()
    number = _take_numbers(connection, 1 + len(document.sections) + len(document.sentences))
    shared = document_metadata(document.sections)
    about = (
        document.id, document.source, document.root, document.title, document.hash,
        len(document.sections), len(document.sentences), len(document.text), time.time(),
    )  # fmt: skip
    _insert(connection, "document", [(number, build, *about, document.text, shared)])
    sections = list(zip(itertools.count(number + 1), document.sections, strict=False))
    above = json.loads(shared)
    _insert(
        connection,
        "section",
        ((own, build, number, *_columns(node, section_metadata(node, above))) for own, node in sections),
    )
    ordered = [(own, section, node) for own, section in sections for node in by_section[section.node_id]]
    first = number + 1 + len(sections)
    _insert(
        connection,
        "sentence",
        (
            (first + i, build, own, *_columns(node, sentence_metadata(node, section)))
            for i, (own, section, node) in enumerate(ordered)
        ),
    )
    nodes = [*document.sections, *(node for _, _, node in ordered)]
    _insert(connection, "embedding", [(number, _packed(document.vector(node) for node in nodes))])


def count_change(connection: sqlite3.Connection) -> None:
    """Note that the visible build has changed, so that derived indexes catch up."""
    connection.execute("UPDATE state SET generation = generation + 1")


def _insert(connection: sqlite3.Connection, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    listed = list(rows)
    if listed:
        marks = ", ".join("?" * len(listed[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", listed)


def _columns(node: Node, metadata: str) -> tuple[object, ...]:
    return node.node_id, node.start_char_idx, node.end_char_idx, metadata, node.text


def _take_numbers(connection: sqlite3.Connection, count: int) -> int:
    """Reserve `count` numbers; the first of them."""
    query = "UPDATE state SET next_number = next_number + ? RETURNING next_number"
    return int(connection.execute(query, (count,)).fetchone()[0]) - count


def _packed(vectors: Iterable[Vector]) -> bytes:
    import numpy as np

    return np.asarray(list(vectors), dtype=STORED_VECTORS).tobytes()


def _made_with(manifest: Manifest) -> tuple[object, ...]:
    return astuple(manifest)[:-1]  # the generation is the state's
