"""Exact dense search: all vectors of a build in memory, kept up with SQLite, document by document.

Vectors that are damaged or missing are embedded again from the text, which is the truth.
NumPy is imported with the first vector that is read: an ingest with nothing to do reads none.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.nodes import Node
from pipeline.notices import notices
from pipeline.stores.base import Level, Manifest, Vector
from pipeline.stores.embedded.checksums import Damaged, is_sound
from pipeline.stores.embedded.documents import (
    Changes,
    Scored,
    State,
    changes_since,
    packed,
    read_manifest,
    read_state,
)
from pipeline.stores.embedded.nodes import numbered_nodes
from pipeline.stores.manifest import check_manifest
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.stores.embedded.vector_rows import VectorRows

_COUNTS = """
    SELECT (SELECT count(*) FROM section WHERE build = :build),
           (SELECT count(*) FROM sentence WHERE build = :build)
"""
_VECTORS = """
    SELECT section.number, section.document,
           embedding.section, embedding.first_sentence, embedding.vectors, embedding.checksum
    FROM section LEFT JOIN embedding ON embedding.section = section.number
"""
# The plus keeps SQLite from sorting what an index on the build brings in another order.
_OF_BUILD = "WHERE +section.build = ? ORDER BY section.number"
_OF_DOCUMENT = "WHERE section.document = ? ORDER BY section.number"
_OF_SECTIONS = "WHERE section.number IN (SELECT value FROM json_each(?)) ORDER BY section.number"

Parameter = int | str | None


Embed = Callable[[Sequence[Node], Sequence[Node]], Mapping[str, Vector]]
"""The vectors of sections and of sentences, by node id."""

AT_ONCE = 64  # sections that are embedded together


class SectionVectors(NamedTuple):
    """What the table `embedding` has of one section."""

    section: int
    first_sentence: int
    vectors: bytes


Keep = Callable[[Sequence[SectionVectors]], bool]
"""Writes vectors in the place of the damaged ones where it can, and says whether it did."""


class VectorMending:
    """Embeds sections again and puts their vectors where they were, unless nothing may be written."""

    def __init__(self, embed: Embed | None, *, manifest: Manifest | None, keep: Keep) -> None:
        self._embed = embed
        self._manifest = manifest
        self._keep = keep

    def mend(self, connection: sqlite3.Connection, sections: Collection[int]) -> dict[int, SectionVectors]:
        """The vectors of some sections, by number.

        Raises `Damaged` where their text is damaged, too, and `ManifestMismatch` where they were another's.
        """
        if self._embed is None:
            raise Damaged(f"the vectors of {counted(len(sections), 'section')} are not as they were written")
        stored = read_manifest(connection, read_state(connection).visible)
        check_manifest(stored, self._manifest)
        numbers = sorted(sections)
        made: list[SectionVectors] = []
        for first in range(0, len(numbers), AT_ONCE):
            made += _embedded(connection, numbers[first : first + AT_ONCE], self._embed)
        if len(made) < len(numbers):
            raise Damaged("sections are in none of the documents")
        kept = self._keep(made)
        notices.warning(
            "The vectors of %s were damaged: embedded again from the text%s.",
            counted(len(numbers), "section"),
            "" if kept else ", but not stored, as nothing can be written there now",
        )
        return {section.section: section for section in made}


class VectorIndex:
    """The vectors of both levels; safe to use from several threads, one at a time."""

    def __init__(self, mending: VectorMending) -> None:
        self._mending = mending
        self._lock = threading.Lock()
        self._made_from: State | None = None
        self._levels: dict[Level, VectorRows] = {}

    def search(
        self,
        connection: sqlite3.Connection,
        state: State,
        vector: Vector,
        *,
        limits: dict[Level, int],
        documents: Collection[int] | None,
    ) -> dict[Level, list[Scored]]:
        """The nodes nearest to a unit vector by cosine, a list a level, best first.

        `documents` limits the search to those numbers.
        """
        with self._lock:
            self._catch_up(connection, state, dimensions=len(vector))
            return {
                level: rows.search(vector, limits[level], documents) for level, rows in self._levels.items()
            }

    def forget(self) -> None:
        """Free the memory; the next search reads everything again."""
        with self._lock:
            self._made_from, self._levels = None, {}

    def _catch_up(self, connection: sqlite3.Connection, state: State, *, dimensions: int) -> None:
        made_from = self._made_from
        if made_from and made_from[:2] == state[:2] and made_from.generation >= state.generation:
            return
        self._made_from = None  # an error below makes the next search load everything
        changes = None
        if made_from and made_from[:2] == state[:2]:
            changes = changes_since(connection, made_from.generation, state)
        if changes is None:
            self._load(connection, state, dimensions)
        else:
            self._apply(connection, changes)
        self._made_from = state

    def _load(self, connection: sqlite3.Connection, state: State, dimensions: int) -> None:
        from pipeline.stores.embedded.vector_rows import VectorRows

        self._levels = {}  # free the old ones first: there is not room for both
        sections, sentences = connection.execute(_COUNTS, {"build": state.visible}).fetchone()
        self._levels = {
            "section": VectorRows(sections, dimensions),
            "sentence": VectorRows(sentences, dimensions),
        }
        self._append(connection, _OF_BUILD, state.visible, dimensions)

    def _apply(self, connection: sqlite3.Connection, changes: Changes) -> None:
        for rows in self._levels.values():
            rows.remove(changes.removed)
        dimensions = self._levels["section"].dimensions
        for document in sorted(changes.added):
            self._append(connection, _OF_DOCUMENT, document, dimensions)

    def _append(
        self, connection: sqlite3.Connection, which: str, parameter: Parameter, dimensions: int
    ) -> None:
        from pipeline.stores.embedded.vector_rows import unpack

        sections, sentences = self._levels["section"], self._levels["sentence"]
        for document, found in _sound(connection, which, parameter, self._mending):
            vectors = unpack(found.vectors, dimensions)
            sections.append(found.section, document, vectors[:1])
            sentences.append(found.first_sentence, document, vectors[1:])


def vectors_of(
    connection: sqlite3.Connection, sections: Collection[int], mending: VectorMending
) -> dict[int, SectionVectors]:
    """The stored vectors of some sections, by number."""
    numbers = json.dumps(sorted(sections))
    return {found.section: found for _, found in _sound(connection, _OF_SECTIONS, numbers, mending)}


def damaged_vectors(connection: sqlite3.Connection, build: int | None) -> list[int]:
    """The sections of a build, by number, whose vectors are missing or not as they were written."""
    return _damaged(connection, _OF_BUILD, build)


def _sound(
    connection: sqlite3.Connection, which: str, parameter: Parameter, mending: VectorMending
) -> Iterator[tuple[int, SectionVectors]]:
    """The document and the vectors of each section, in order; those that are damaged are mended."""
    mended: dict[int, SectionVectors] = {}
    for row in connection.execute(_VECTORS + which, (parameter,)):
        section, document, _, first_sentence, vectors, _ = row
        if _is_sound(row):
            yield document, SectionVectors(section, first_sentence, vectors)
            continue
        mended = mended or mending.mend(connection, _damaged(connection, which, parameter))
        yield document, mended[section]


def _damaged(connection: sqlite3.Connection, which: str, parameter: Parameter) -> list[int]:
    rows = connection.execute(_VECTORS + which, (parameter,))
    return [row[0] for row in rows if not _is_sound(row)]


def _is_sound(row: tuple[Any, ...]) -> bool:
    section, _, own, first_sentence, vectors, stored = row
    return bool(own == section and is_sound((own, first_sentence, vectors), stored))


def _embedded(connection: sqlite3.Connection, sections: Sequence[int], embed: Embed) -> list[SectionVectors]:
    found = numbered_nodes(connection, sections)
    leaves = [sentence for _, _, (_, *sentences) in found for sentence in sentences]
    vectors = embed([nodes[0] for _, _, nodes in found], leaves)
    return [
        SectionVectors(number, first_sentence, packed(vectors[node.node_id] for node in nodes))
        for number, first_sentence, nodes in found
    ]
