"""BM25 by tantivy: an index a level, so that each has its own statistics, derived from SQLite.

The folder holds `current.json` and the folder that it names, with both indexes. `current.json` tells
which generation of which store they were derived from, and the checksum of every file: where anything
differs, they are rebuilt in another folder, which then takes the place of the old one.
Only the holder of the store's writer lock changes anything here; everyone else searches what there is.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import sqlite3
import threading
import uuid
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, get_origin, get_type_hints

import tantivy

from pipeline.analysis import ANALYSER_VERSION
from pipeline.notices import notices
from pipeline.stores.base import LEVELS, Level
from pipeline.stores.embedded.documents import Scored, State, changes_since
from pipeline.stores.embedded.lock import WriterLock
from pipeline.stores.embedded.tantivy_index import (
    LexicalDamaged,
    change_index,
    create_index,
    has_term,
    open_searcher,
    rows_of_build,
    rows_of_documents,
    search_index,
    writable,
)

LEXICAL_FORMAT: Final = f"1.{ANALYSER_VERSION}.{version('tantivy')}"
CURRENT: Final = "current.json"

_NAME = re.compile("[0-9a-f]{12}")  # of a folder

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Derived:
    """What `current.json` says: a folder, and what the indexes in it were derived from."""

    format: str
    store: str
    build: int
    generation: int
    removed: int  # documents that are gone, but whose words still lie in the files
    folder: str
    files: dict[str, int]  # path in the folder → checksum

    @classmethod
    def of(cls, stored: object) -> Derived | None:
        """What a `current.json` says; None where that cannot be what was written."""
        kinds = get_type_hints(cls)
        if not isinstance(stored, dict) or stored.keys() != kinds.keys():
            return None
        if any(type(stored[name]) is not (get_origin(kind) or kind) for name, kind in kinds.items()):
            return None
        return cls(**stored) if _NAME.fullmatch(stored["folder"]) else None

    def precedes(self, state: State) -> bool:
        """True where it is `state`, or can be caught up with it."""
        same = (self.format, self.store, self.build) == (LEXICAL_FORMAT, state.store, state.visible)
        return same and self.generation <= state.generation


class LexicalIndex:
    """The BM25 indexes of both levels."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._opened: Derived | None = None
        self._searchers: dict[Level, tantivy.Searcher] = {}
        self._verified = False

    def search(
        self,
        state: State,
        terms: Sequence[str],
        *,
        limits: Mapping[Level, int],
        documents: Collection[int] | None,
    ) -> dict[Level, list[Scored]]:
        """The best nodes for a query's terms, a list a level; `documents` limits the search to those.

        What is open may be older than `state`; some of its numbers may no longer exist.
        """
        with self._lock:
            opened, searchers = self._opened, dict(self._searchers)
        if opened is None or (opened.store, opened.build) != (state.store, state.visible):
            return {level: [] for level in LEVELS}
        return {
            level: search_index(searcher, terms, limit=limits[level], documents=documents)
            for level, searcher in searchers.items()
        }

    def lacking(self, state: State, terms: Collection[str]) -> frozenset[str]:
        """Those of some terms that no section of what is open has; none where that is of another build."""
        with self._lock:
            opened, searchers = self._opened, dict(self._searchers)
        if opened is None or (opened.store, opened.build) != (state.store, state.visible):
            return frozenset()
        return frozenset(term for term in terms if not has_term(searchers["section"], term))

    def is_current(self, state: State) -> bool:
        """True where what is open was derived from `state` and is sound; opens what others have derived."""
        with self._lock:
            if not self._is_derived_from(state):
                self._open()
            return self._verified and self._is_derived_from(state)

    def update(self, connection: sqlite3.Connection, state: State, *, purge: bool = False) -> None:
        """Catch up with `state`, or rebuild where that is impossible; the caller holds the writer's lock.

        With `purge`, no word of a removed document stays in any file: tantivy itself only marks them.
        """
        if state.visible is None:
            return
        current = self._read_current()
        sound = current is not None and self._is_sound(current, state)
        if not sound and (current.precedes(state) if current else (self._folder / CURRENT).exists()):
            notices.warning("The index of words was damaged: rebuilt from the text.")
        changes = changes_since(connection, current.generation, state) if current and sound else None
        if current is None or changes is None or (purge and (current.removed or changes.removed)):
            self.adopt(self.derive(connection, state.visible), state)
            _log.info("rebuilt the lexical index of generation %d", state.generation)
        elif current.generation < state.generation:
            for level in LEVELS:
                rows = rows_of_documents(connection, level, changes.added)
                # What is added is taken out first: after a kill it may be in already.
                gone = changes.removed | changes.added
                change_index(self._folder / current.folder / level, rows, remove=gone)
            self._publish(current.folder, state, removed=current.removed + len(changes.removed))
        self._verified = True

    def derive(self, connection: sqlite3.Connection, build: int | None) -> str:
        """The name of a new folder with both indexes of a build, which nobody searches yet."""
        name = uuid.uuid4().hex[:12]
        with writable():
            if not self._folder.is_dir():
                self._folder.unlink(missing_ok=True)
        for level in LEVELS:
            create_index(self._folder / name / level, rows_of_build(connection, level, build))
        return name

    def adopt(self, name: str, state: State) -> None:
        """Search the indexes in the folder `name`, derived from `state`, and throw away all others."""
        self._publish(name, state, removed=0)
        with writable():
            others = [path for path in self._folder.iterdir() if path.is_dir() and path.name != name]
        for other in others:
            shutil.rmtree(other, ignore_errors=True)  # one that is open on Windows goes next time
        self._verified = True

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self._searchers, self._opened = {}, None
        self._verified = False

    def counts(self) -> dict[Level, int]:
        """How many nodes what is open has."""
        with self._lock:
            return {level: searcher.num_docs for level, searcher in self._searchers.items()}

    def _publish(self, name: str, state: State, *, removed: int) -> None:
        """Say that the folder `name` was derived from `state`, in one rename, and open it."""
        with writable():
            derived = Derived(
                format=LEXICAL_FORMAT,
                store=state.store,
                build=state.visible or 0,
                generation=state.generation,
                removed=removed,
                folder=name,
                files=_checksums(self._folder / name),
            )
            draft = self._folder / f"{CURRENT}.new"
            draft.write_text(json.dumps(asdict(derived)), encoding="utf-8")
            for file in (self._folder / name).rglob("*.json"):  # tantivy lets only their owner read them
                shutil.copymode(draft, file)
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
            _check_segments(folder, current.files)
            self._searchers = {level: open_searcher(folder / level) for level in LEVELS}
            self._opened = current
        except (OSError, LexicalDamaged) as error:  # or just replaced: `update` mends it
            _log.warning("cannot open the lexical index in '%s': %s", self._folder, error)

    def _is_sound(self, current: Derived, state: State) -> bool:
        """True where it can be caught up with `state`, no file has changed and tantivy can read them."""
        folder = self._folder / current.folder
        if not current.precedes(state):
            return False
        try:
            if _checksums(folder) != current.files:
                return False
            for level in LEVELS:
                open_searcher(folder / level)
        except (OSError, LexicalDamaged):
            return False
        return True

    def _read_current(self) -> Derived | None:
        try:
            return Derived.of(json.loads((self._folder / CURRENT).read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError):  # none yet, or damaged: rebuilt
            return None

    def _is_derived_from(self, state: State) -> bool:
        opened = self._opened
        return opened is not None and opened.precedes(state) and opened.generation == state.generation


class LexicalCopy:
    """A copy of an index whose own folder may only be read: tantivy makes files there even to search.

    It has a temporary folder, and a lock for the process that brings it up to date.
    """

    def __init__(self, original: Path) -> None:
        self._original = original
        self._temporary = TemporaryDirectory(prefix="athena-")
        self.folder = Path(self._temporary.name) / original.name
        self.lock = WriterLock(Path(self._temporary.name))
        self.renew()

    def renew(self) -> None:
        """Copy the index again; one that cannot be copied whole is derived from the text."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        try:
            for path in sorted(self._original.rglob("*")):  # `copytree` would protect the copy, too
                copy = self.folder / path.relative_to(self._original)
                if path.is_dir():
                    copy.mkdir()
                else:
                    shutil.copyfile(path, copy)
        except OSError:  # files that only their owner may read
            shutil.rmtree(self.folder, ignore_errors=True)

    def remove(self) -> None:
        """Delete the copy."""
        self._temporary.cleanup()


def _check_segments(folder: Path, files: Mapping[str, int]) -> None:
    """Raise `LexicalDamaged` for what tantivy would fail on loudly: a segment that has changed.

    A writer that is at work adds segments and removes some, but changes none; its lists are JSON.
    """
    for name, stored in files.items():
        path = folder / name
        if path.suffix != ".json" and path.is_file() and zlib.crc32(path.read_bytes()) != stored:
            raise LexicalDamaged(f"'{path}' is not as it was written.", "Search again.")


def _checksums(folder: Path) -> dict[str, int]:
    """The checksum of every file below a folder; about a millisecond a megabyte."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(folder).as_posix(): zlib.crc32(path.read_bytes()) for path in files}
