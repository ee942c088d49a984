"""Which documents an ingest is about: found in folders, told apart by root, or gone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from pipeline.nodes import Node
from pipeline.stores.base import DocumentInfo
from readers.errors import ReaderError
from readers.files import FoundFiles, LeftOut, Source

UPLOAD_ROOT = "upload"


LONGEST_PATH = 4_096  # characters that are named of a path; no system takes more


class Reader(Protocol):
    """Finds files, reads them and cuts them into nodes: only its implementation knows their format."""

    def find(self, path: Path) -> FoundFiles:
        """The files at and below `path`; raises `ReaderError` where two have one name."""

    def read(self, path: Path, *, source: str, known: str = "") -> Source | None:
        """The text of a file, called `source` in the index; raises `ReaderError`.

        None may come back where it still has the hash `known`.
        """

    def cut(self, text: str, *, source: str) -> tuple[Sequence[Node], Sequence[Node]]:
        """The sections, and the sentences of all of them, in order; each sentence knows its section."""

    def warnings(self, text: str, sections: Sequence[Any]) -> Sequence[str]:
        """What of a text is not read as what it is, a sentence each: it is too much."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A document that could not be ingested, with the reason and what to do."""

    source: str
    reason: str
    fix: str

    @classmethod
    def of(cls, error: ReaderError) -> Problem:
        """The problem that a reader's error describes."""
        return cls(error.source, error.reason, error.fix)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that should be in the index; without a `path` its text is in the index already."""

    source: str
    root: str
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """What is to be indexed, which folders were searched whole, and what is wrong with the rest.

    `left_out` has the documents of folders that are not read for their format.
    """

    candidates: tuple[Candidate, ...]
    folders: frozenset[str]
    problems: tuple[Problem, ...]
    left_out: Mapping[Candidate, LeftOut] = field(default_factory=dict)


def find_documents(paths: Iterable[Path | str], *, reader: Reader, root: str | None = None) -> FoundDocuments:
    """The documents at and below `paths`, in their order; a file reached twice comes once.

    Each belongs to the folder that it was found in. Given a `root`, all belong to that instead, and no
    folder counts as searched whole, so that no document counts as deleted.
    """
    candidates: list[Candidate] = []
    problems: list[Problem] = []
    left_out: dict[Candidate, LeftOut] = {}
    folders: set[str] = set()
    seen: set[str] = set()
    for path in map(Path, paths):
        if unreachable := _unreachable(path):
            problems.append(unreachable)
            continue
        folder = path if path.is_dir() else path.parent
        own_root = root or str(folder.resolve())
        try:
            found = reader.find(path)
        except ReaderError as error:
            problems.append(Problem.of(error))
            continue
        reported = list(map(Problem.of, found.problems))
        problems += reported
        unreadable_root = any(problem.source == path.name for problem in reported)
        if root is None and path.is_dir() and not unreadable_root:
            folders.add(own_root)
        for file in found.files:
            real = os.path.realpath(file.path)
            if real not in seen:
                seen.add(real)
                candidates.append(Candidate(file.source, own_root, file.path))
        left_out |= {Candidate(other.source, own_root, other.path): other for other in found.left_out}
    unread = {at: other for at, other in left_out.items() if os.path.realpath(other.path) not in seen}
    return FoundDocuments(tuple(candidates), frozenset(folders), tuple(problems), unread)


def with_known(found: FoundDocuments, stored: Iterable[DocumentInfo]) -> FoundDocuments:
    """`found` with what was left out but is indexed from that folder: who added it once wants it kept."""
    indexed = {(info.source, info.root) for info in stored}
    known = [candidate for candidate in found.left_out if (candidate.source, candidate.root) in indexed]
    others = {
        candidate: other
        for candidate, other in found.left_out.items()
        if (candidate.source, candidate.root) not in indexed
    }
    return replace(found, candidates=(*found.candidates, *known), left_out=others)


def _unreachable(path: Path) -> Problem | None:
    """Why a path cannot even be looked at; that nothing is there the reader says."""
    try:
        path.stat()
        path.resolve()  # fails where the working folder was deleted
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not path.exists():
            return None
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Problem(f"{str(path)!r:.{LONGEST_PATH}}".strip("'"), str(reason).lower(), "Check the path.")
    return None


def without_collisions(found: FoundDocuments, stored: Iterable[DocumentInfo]) -> FoundDocuments:
    """`found` without the documents whose name another root has already, which become problems.

    Where the other root does not have the file any more, the document has moved: it is kept.
    """
    owners = {info.source: info.root for info in stored if _still_there(info, found)}
    kept: list[Candidate] = []
    taken: dict[tuple[str, str], list[str]] = {}
    for candidate in found.candidates:
        owner = owners.setdefault(candidate.source, candidate.root)
        if owner == candidate.root:
            kept.append(candidate)
            continue
        taken.setdefault((candidate.root, owner), []).append(candidate.source)
    problems = (*found.problems, *(_taken(*roots, sources) for roots, sources in taken.items()))
    return replace(found, candidates=tuple(kept), problems=problems)


def _taken(root: str, owner: str, sources: Sequence[str]) -> Problem:
    """What is wrong with the documents of a folder whose names another folder has already."""
    others = f" (and {len(sources) - 1:,} more)" if len(sources) > 1 else ""
    return Problem(
        sources[0] + others,
        f"'{root}' and '{owner}' both have a file of that name",
        "Ingest the folder that contains both, rename one, or use another data folder (--data-dir).",
    )


def vanished(found: FoundDocuments, stored: Iterable[DocumentInfo]) -> list[str]:
    """The sources that are indexed from the searched folders, but are not there any more.

    A file that is there but cannot be read, or lies in a folder that cannot, keeps its former version.
    """
    present = {candidate.source for candidate in found.candidates}
    kept = {problem.source for problem in found.problems}
    closed_folders = tuple(source for source in kept if source.endswith("/"))
    return [
        info.source
        for info in stored
        if info.root in found.folders
        and info.source not in present | kept
        and not info.source.startswith(closed_folders or ("\0",))
    ]


def _still_there(info: DocumentInfo, found: FoundDocuments) -> bool:
    """True where the root of an indexed document still claims its name."""
    if info.root in found.folders:
        return False  # it is among the candidates, or has vanished
    return info.root == UPLOAD_ROOT or (Path(info.root) / info.source).exists()
