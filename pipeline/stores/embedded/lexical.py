"""BM25 by tantivy: an index a level, so that each has its own statistics, derived from the SQLite file.

The folder holds `current.json` and the folder that it names, with both indexes. `current.json` says which
documents of which build they hold. Changed documents are deleted and added in one commit. The indexes are
made anew, in another folder that then takes the place of the old one, for another build, another version of
the analyser, when they cannot be read, and when much of them is of removed documents.
Only the holder of the store's writer lock changes anything here; everyone else searches what there is.
"""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import threading
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import tantivy

from pipeline.analysis import ANALYSER_VERSION, lexical_terms
from pipeline.stores.base import LEVELS, Level
from pipeline.stores.embedded.documents import Scored, State, document_numbers
from pipeline.stores.embedded.nodes import as_json
from pipeline.stores.embedded.tantivy_index import (
    LexicalDamaged,
    LexicalRow,
    change_index,
    create_index,
    has_term,
    open_searcher,
    search_index,
    writable,
)
from pipeline.stores.metadata import read_section, read_sentence

LEXICAL_FORMAT: Final = f"2.{ANALYSER_VERSION}.{version('tantivy')}"
CURRENT: Final = "current.json"
MOST_REMOVED = (
    0.5  # removed documents a present one: their words still lie in the files until they are merged
)

_NODES: Mapping[Level, str] = {
    "section": """
        SELECT section.number, document.number, document.metadata, section.metadata, NULL, section.text
        FROM document JOIN section ON section.document = document.number
        WHERE document.number IN (SELECT value FROM json_each(?)) ORDER BY section.number
    """,
    "sentence": """
        SELECT sentence.number, document.number, document.metadata, section.metadata, sentence.metadata,
               sentence.text
        FROM document JOIN section ON section.document = document.number
        JOIN sentence ON sentence.section = section.number
        WHERE document.number IN (SELECT value FROM json_each(?)) ORDER BY sentence.number
    """,
}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Derived:
    """What `current.json` says: a folder, and what the indexes in it were made from."""

    format: str
    store: str
    build: int
    generation: int
    folder: str
    documents: tuple[int, ...]  # numbers
    removed: int = 0  # documents that were taken out since the indexes were made

    def is_of(self, state: State) -> bool:
        """Whether it was made from this build, at this or an earlier generation."""
        same = (self.format, self.store, self.build) == (LEXICAL_FORMAT, state.store, state.visible)
        return same and self.generation <= state.generation


class LexicalIndex:
    """The BM25 indexes of both levels."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._opened: Derived | None = None
        self._searchers: dict[Level, tantivy.Searcher] = {}

    def search(
        self,
        state: State,
        terms: Sequence[str],
        *,
        limits: Mapping[Level, int],
        documents: Collection[int] | None,
    ) -> dict[Level, list[Scored]]:
        """The best nodes for a query's terms, a list a level; `documents` limits the search to those.

        What is open may be older than `state`: some of its numbers may no longer exist.
        """
        return {
            level: search_index(searcher, terms, limit=limits[level], documents=documents)
            for level, searcher in self._searchers_of(state).items()
        }

    def lacking(self, state: State, terms: Collection[str]) -> frozenset[str]:
        """The terms that no section has; none while nothing of this build is open."""
        searcher = self._searchers_of(state).get("section")
        if searcher is None:
            return frozenset()
        return frozenset(term for term in terms if not has_term(searcher, term))

    def is_current(self, state: State) -> bool:
        """Whether what is open was made from `state`; opens what others have made."""
        with self._lock:
            if not self._is_at(state):
                self._open()
            return self._is_at(state)

    def update(self, connection: sqlite3.Connection, state: State) -> None:
        """Catch up with `state`; the caller holds the writer's lock."""
        current = self._read_current()
        if state.visible is None or (self.is_current(state) and current == self._opened):
            return
        now = document_numbers(connection, state.visible)
        if current is None or not current.is_of(state) or not self._can_be_opened(current):
            self.adopt(self.derive(connection, state.visible), state, now)
            return
        known = frozenset(current.documents)
        removed = current.removed + len(known - now)
        if removed > MOST_REMOVED * len(now):
            self.adopt(self.derive(connection, state.visible), state, now)
            return
        for level in LEVELS:
            added = now - known
            # What is added is deleted first: after a kill it may be there already.
            gone = (known - now) | added
            change_index(self._folder / current.folder / level, _rows(connection, level, added), remove=gone)
        self._publish(replace(_derived(state, current.folder, now), removed=removed))

    def derive(self, connection: sqlite3.Connection, build: int) -> str:
        """The name of a new folder with both indexes of a build, which nobody searches yet."""
        name = uuid.uuid4().hex[:12]
        numbers = document_numbers(connection, build)
        for level in LEVELS:
            create_index(self._folder / name / level, _rows(connection, level, numbers))
        return name

    def adopt(self, name: str, state: State, documents: Collection[int]) -> None:
        """Search the indexes in the folder `name`, made from `state`, and delete all others."""
        self._publish(_derived(state, name, documents))
        with writable():
            others = [path for path in self._folder.iterdir() if path.is_dir() and path.name != name]
        for other in others:
            shutil.rmtree(other, ignore_errors=True)  # one that is open on Windows goes next time
        _log.info("made the lexical index of generation %d", state.generation)

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self._searchers, self._opened = {}, None

    def counts(self) -> dict[Level, int]:
        """How many nodes what is open has."""
        with self._lock:
            return {level: searcher.num_docs for level, searcher in self._searchers.items()}

    def _publish(self, derived: Derived) -> None:
        """Write `current.json` in one rename, and open what it names."""
        with writable():
            draft = self._folder / f"{CURRENT}.new"
            draft.write_text(json.dumps(asdict(derived)), encoding="utf-8")
            draft.replace(self._folder / CURRENT)
        with self._lock:
            self._open()

    def _open(self) -> None:
        """Open what `current.json` names, unless it is open already or cannot be."""
        current = self._read_current()
        if current is None or current == self._opened or current.format != LEXICAL_FORMAT:
            return
        try:
            folder = self._folder / current.folder
            self._searchers = {level: open_searcher(folder / level) for level in LEVELS}
            self._opened = current
        except LexicalDamaged as error:  # or just replaced: the next `update` makes it anew
            _log.warning("cannot open the lexical index in '%s': %s", self._folder, error)

    def _can_be_opened(self, current: Derived) -> bool:
        try:
            for level in LEVELS:
                open_searcher(self._folder / current.folder / level)
        except LexicalDamaged as error:
            _log.warning("the lexical index in '%s' is made anew: %s", self._folder, error)
            return False
        return True

    def _read_current(self) -> Derived | None:
        try:
            stored: dict[str, Any] = json.loads((self._folder / CURRENT).read_text(encoding="utf-8"))
            return Derived(**stored | {"documents": tuple(stored["documents"])})
        except (OSError, ValueError, TypeError, KeyError):  # none yet, or of another version: made anew
            return None

    def _is_at(self, state: State) -> bool:
        opened = self._opened
        return opened is not None and opened.is_of(state) and opened.generation == state.generation

    def _searchers_of(self, state: State) -> dict[Level, tantivy.Searcher]:
        with self._lock:
            opened, searchers = self._opened, dict(self._searchers)
        if opened is None or (opened.store, opened.build) != (state.store, state.visible):
            return {}
        return searchers


def _derived(state: State, folder: str, documents: Collection[int]) -> Derived:
    return Derived(
        LEXICAL_FORMAT, state.store, state.visible or 0, state.generation, folder, tuple(sorted(documents))
    )


def _rows(connection: sqlite3.Connection, level: Level, documents: Collection[int]) -> Iterator[LexicalRow]:
    """The nodes of some documents, by number."""
    for number, document, shared, section, own, text in connection.execute(
        _NODES[level], (as_json(documents),)
    ):
        metadata = read_section(shared, section)
        if own is not None:
            metadata = read_sentence(metadata, own)
        yield number, document, lexical_terms(text, metadata)
