"""Documents in SQLite: written, removed and listed; builds begun, made visible and dropped."""

from __future__ import annotations

import itertools
import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from typing import Any, NamedTuple

from pipeline.errors import UnknownDocument
from pipeline.nodes import Node
from pipeline.stores.base import DocumentInfo, Manifest, NewDocument, Vector
from pipeline.stores.embedded.checksums import Damaged, Value, check_row, checksum
from pipeline.stores.embedded.schema import DOCUMENT_CHECKED
from pipeline.stores.metadata import document_metadata, section_metadata, sentence_metadata

STORED_VECTORS = "<f2"
"""Half precision: half the file and the reading, and cosines within 0.0002 of those of float32."""

KEPT_CHANGES = 20_000
"""Generations in the change log; an index that is further behind is rebuilt."""

_INFO = f"SELECT {DOCUMENT_CHECKED}, checksum FROM document WHERE build = ?"

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
    """The state as of now; raises `Damaged`."""
    match connection.execute("SELECT store, visible, generation FROM state").fetchone():
        case (str(store), int() | None as visible, int(generation)):
            return State(store, visible, generation)
    raise Damaged("the table 'state' is not as it was written")


def read_manifest(connection: sqlite3.Connection, build: int | None, generation: int = 0) -> Manifest | None:
    """What a build was made with; None where there is none or it has no document. Raises `Damaged`."""
    if build is None:
        return None
    row = connection.execute(
        f"SELECT {_MADE_WITH}, EXISTS (SELECT 1 FROM document WHERE document.build = manifest.build) "
        "FROM manifest WHERE build = ?",
        (build,),
    ).fetchone()
    if row is None or [type(value) for value in row[:-1]] != [int, str, int, str, str, int]:
        raise Damaged("the table 'manifest' is not as it was written")
    return replace(Manifest(*row[:-1]), generation=generation) if row[-1] else None


def list_infos(connection: sqlite3.Connection, build: int | None) -> list[DocumentInfo]:
    """The documents of a build, by source; raises `Damaged`."""
    return [_info(row) for row in connection.execute(_INFO + " ORDER BY source", (build,))]


def find_info(connection: sqlite3.Connection, build: int | None, source: str) -> DocumentInfo:
    """One document of a build; raises `UnknownDocument` and `Damaged`."""
    row = connection.execute(_INFO + " AND source = ?", (build, source)).fetchone()
    if row is None:
        raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
    return _info(row)


def read_text(connection: sqlite3.Connection, build: int | None, source: str) -> str:
    """The text of a document that is there; raises `Damaged`."""
    text, stored = connection.execute(
        "SELECT text, text_checksum FROM document WHERE build = ? AND source = ?", (build, source)
    ).fetchone()
    check_row("document", (text,), stored)
    return str(text)


def _info(row: tuple[Any, ...]) -> DocumentInfo:
    check_row("document", row[:-1], row[-1])
    return DocumentInfo(*row[2:-1])


def begin_build(connection: sqlite3.Connection, manifest: Manifest) -> int:
    """The number of a new build, still empty and not visible."""
    cursor = connection.execute(
        f"INSERT INTO manifest ({_MADE_WITH}) VALUES (?, ?, ?, ?, ?, ?)",
        _made_with(manifest),
    )
    return int(cursor.lastrowid or 0)


def pending_build(connection: sqlite3.Connection, manifest: Manifest) -> int | None:
    """The build that a rebuild with this manifest left unfinished, if one did."""
    row = connection.execute(
        f"SELECT build FROM manifest WHERE ({_MADE_WITH}) = (?, ?, ?, ?, ?, ?) "
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
    about = (
        number, build, document.id, document.source, document.root, document.title, document.hash,
        len(document.sections), len(document.sentences), len(document.text), time.time(),
    )  # fmt: skip
    checksums = checksum(*about), checksum(document.text), checksum(shared)
    row = (*about, document.text, shared, *checksums)
    connection.execute(f"INSERT INTO document VALUES ({', '.join('?' * len(row))})", row)
    sections = list(zip(itertools.count(number + 1), document.sections, strict=False))
    connection.executemany(
        "INSERT INTO section VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            _checked(own, build, number, *_columns(node, section_metadata(node, shared_metadata)))
            for own, node in sections
        ),
    )
    first = number + 1 + len(sections)
    for own, section in sections:
        sentences = by_section[section.node_id]
        connection.executemany(
            "INSERT INTO sentence VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                _checked(first + i, build, number, own, *_columns(node, sentence_metadata(node, section)))
                for i, node in enumerate(sentences)
            ),
        )
        vectors = packed(document.vector(node) for node in (section, *sentences))
        write_vectors(connection, own, first, vectors)
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
    if not all(isinstance(number, int | None) for row in rows for number in row):  # damaged
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
    if row is None or not isinstance(row[0], int):
        raise Damaged("the table 'state' is not as it was written")
    return row[0] - count


def write_vectors(connection: sqlite3.Connection, section: int, first_sentence: int, vectors: bytes) -> None:
    """Write the vectors of a section that is there, or replace them."""
    connection.execute(
        "INSERT OR REPLACE INTO embedding SELECT ?1, ?2, ?3, ?4 WHERE EXISTS "
        "(SELECT 1 FROM section WHERE number = ?1)",
        _checked(section, first_sentence, vectors),
    )


def packed(vectors: Iterable[Vector]) -> bytes:
    """Vectors as they are stored, row by row."""
    import numpy as np

    return np.asarray(list(vectors), dtype=STORED_VECTORS).tobytes()


def _columns(node: Node, metadata: str) -> tuple[Value, ...]:
    return node.node_id, node.start_char_idx, node.end_char_idx, metadata, node.text


def _checked(*row: Value) -> tuple[Value, ...]:
    return *row, checksum(*row)
