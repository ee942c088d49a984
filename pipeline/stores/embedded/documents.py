"""Documents in SQLite: written, removed and listed; builds begun, made visible and dropped."""

from __future__ import annotations

import itertools
import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from typing import NamedTuple

from pipeline.errors import UnknownDocument
from pipeline.nodes import Node
from pipeline.stores.base import DocumentInfo, Manifest, NewDocument
from pipeline.stores.embedded.metadata import document_metadata, section_metadata, sentence_metadata

STORED_VECTORS = "<f2"
"""Half precision: half the file and the reading, and cosines within 0.0002 of those of float32."""

KEPT_CHANGES = 20_000
"""Generations in the change log; an index that is further behind is rebuilt."""

_INFO = (
    "SELECT id, source, root, title, hash, sections, sentences, characters, indexed_at "
    "FROM document WHERE build = ?"
)

_MADE_WITH = "format, embedding_model, dimensions, splitter, fingerprint, recipe"  # a manifest's columns


class State(NamedTuple):
    """Which build is visible (None before the first), and how often what is visible has changed."""

    store: str
    visible: int | None
    generation: int


class Scored(NamedTuple):
    """A node that a derived index has found, by its number, with its score."""

    number: int
    score: float


def read_state(connection: sqlite3.Connection) -> State:
    """The state as of now."""
    return State(*connection.execute("SELECT store, visible, generation FROM state").fetchone())


def read_manifest(connection: sqlite3.Connection, build: int | None, generation: int = 0) -> Manifest | None:
    """What a build was made with; None where there is none or it has no document."""
    row = connection.execute(
        f"SELECT {_MADE_WITH} FROM manifest "  # noqa: S608
        "WHERE build = ? AND EXISTS (SELECT 1 FROM document WHERE document.build = manifest.build)",
        (build,),
    ).fetchone()
    return replace(Manifest(*row), generation=generation) if row else None


def list_infos(connection: sqlite3.Connection, build: int | None) -> list[DocumentInfo]:
    """The documents of a build, by source."""
    return [DocumentInfo(*row) for row in connection.execute(_INFO + " ORDER BY source", (build,))]


def find_info(connection: sqlite3.Connection, build: int | None, source: str) -> DocumentInfo:
    """One document of a build; raises `UnknownDocument`."""
    row = connection.execute(_INFO + " AND source = ?", (build, source)).fetchone()
    if row is None:
        raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
    return DocumentInfo(*row)


def begin_build(connection: sqlite3.Connection, manifest: Manifest) -> int:
    """The number of a new build, still empty and not visible."""
    cursor = connection.execute(
        f"INSERT INTO manifest ({_MADE_WITH}) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608
        _made_with(manifest),
    )
    return int(cursor.lastrowid or 0)


def pending_build(connection: sqlite3.Connection, manifest: Manifest) -> int | None:
    """The build that a rebuild with this manifest left unfinished, if one did."""
    row = connection.execute(
        f"SELECT build FROM manifest WHERE ({_MADE_WITH}) = (?, ?, ?, ?, ?, ?) "  # noqa: S608
        "AND build IS NOT (SELECT visible FROM state) ORDER BY build DESC",
        _made_with(manifest),
    ).fetchone()
    return int(row[0]) if row else None


def show_build(connection: sqlite3.Connection, build: int) -> None:
    """Make a build the visible one: whatever was derived from another has to be rebuilt."""
    connection.execute("UPDATE state SET visible = ?, generation = generation + 1", (build,))
    connection.execute("DELETE FROM change")


def drop_builds_except(connection: sqlite3.Connection, builds: Sequence[int | None]) -> None:
    """Delete all builds but these, with everything in them."""
    for (build,) in connection.execute("SELECT build FROM manifest").fetchall():
        if build not in builds:
            connection.execute("DELETE FROM document WHERE build = ?", (build,))
            connection.execute("DELETE FROM manifest WHERE build = ?", (build,))


def remove_document(connection: sqlite3.Connection, build: int, source: str) -> int | None:
    """Delete a document with all that was made of it; its number, or None where there was none."""
    row = connection.execute(
        "DELETE FROM document WHERE build = ? AND source = ? RETURNING number", (build, source)
    ).fetchone()
    return int(row[0]) if row else None


def insert_document(connection: sqlite3.Connection, build: int, document: NewDocument) -> int:
    """Write a document's rows; its number."""
    by_section = document.sentences_by_section()
    shared = document_metadata(document.sections)
    shared_metadata = json.loads(shared)
    number = _take_numbers(connection, 1 + len(document.sections) + len(document.sentences))
    connection.execute(
        "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number, build, document.id, document.source, document.root, document.title, document.hash,
            len(document.sections), len(document.sentences), len(document.text), time.time(), document.text,
            shared,
        ),
    )  # fmt: skip
    sections = list(zip(itertools.count(number + 1), document.sections, strict=False))
    connection.executemany(
        "INSERT INTO section VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (own, build, number, *_columns(node, section_metadata(node, shared_metadata)))
            for own, node in sections
        ),
    )
    first = number + 1 + len(sections)
    for own, section in sections:
        sentences = by_section[section.node_id]
        connection.executemany(
            "INSERT INTO sentence VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (first + i, build, number, own, *_columns(node, sentence_metadata(node, section)))
                for i, node in enumerate(sentences)
            ),
        )
        vectors = _packed(document, [section, *sentences])
        connection.execute("INSERT INTO embedding VALUES (?, ?, ?)", (own, first, vectors))
        first += len(sentences)
    return number


def log_change(connection: sqlite3.Connection, *, removed: int | None, added: int | None) -> None:
    """Count one change of what is visible, and keep it for the derived indexes to catch up with."""
    connection.execute("UPDATE state SET generation = generation + 1")
    connection.execute("INSERT INTO change SELECT generation, ?, ? FROM state", (removed, added))
    connection.execute(
        "DELETE FROM change WHERE generation <= (SELECT generation FROM state) - ?", (KEPT_CHANGES,)
    )


class Changes(NamedTuple):
    """Documents, by number, that were removed and added between two generations."""

    removed: frozenset[int]
    added: frozenset[int]


def changes_since(connection: sqlite3.Connection, generation: int, state: State) -> Changes | None:
    """What changed after `generation`; None where the log does not reach back so far."""
    rows = connection.execute(
        "SELECT removed, added FROM change WHERE generation > ? AND generation <= ?",
        (generation, state.generation),
    ).fetchall()
    if len(rows) != state.generation - generation:  # trimmed, cleared, or from another future
        return None
    removed = frozenset(removed for removed, _ in rows if removed is not None)
    added = frozenset(added for _, added in rows if added is not None)
    return Changes(removed, added - removed)


def _made_with(manifest: Manifest) -> tuple[object, ...]:
    return astuple(manifest)[:-1]  # the generation is the state's


def _take_numbers(connection: sqlite3.Connection, count: int) -> int:
    """Reserve `count` numbers; the first of them."""
    row = connection.execute(
        "UPDATE state SET next_number = next_number + ? RETURNING next_number", (count,)
    ).fetchone()
    return int(row[0]) - count


def _columns(node: Node, metadata: str) -> tuple[object, ...]:
    return node.node_id, node.start_char_idx, node.end_char_idx, metadata, node.text


def _packed(document: NewDocument, nodes: Iterable[Node]) -> bytes:
    import numpy as np

    return np.asarray([document.vector(node) for node in nodes], dtype=STORED_VECTORS).tobytes()
