"""Which documents an ingest is about: found in folders, told apart by root, or gone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from pipeline.nodes import Node
from pipeline.stores.base import DocumentInfo

UPLOAD_ROOT = "upload"


class SourceText(Protocol):
    """A file's text, as offsets count in it, and the hash of its bytes."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def hash(self) -> str:
        """The hash."""


class OtherFile(Protocol):
    """A document that a folder has, of a format that it is not read for."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def source(self) -> str:
        """Its name in the index."""

    @property
    def format(self) -> str:
        """Its format, in words."""

    @property
    def fix(self) -> str:
        """What to do so that it is read."""

    @property
    def mentioned(self) -> bool:
        """Whether a report names it."""


class Conversion(Protocol):
    """What a text was made from."""

    @property
    def format(self) -> str:
        """The format, in words."""

    @property
    def pages(self) -> int:
        """How many pages it has; 0 where the format has none."""

    @property
    def left_out(self) -> Sequence[str]:
        """What is not in the text, with its number, such as `3 images`."""


class Reader(Protocol):
    """Finds files, reads them and cuts them into nodes: only its implementation knows their format."""

    @property
    def unreadable(self) -> type[Exception]:
        """What `find` and `read` raise, and `find` reports: it has `source`, `reason` and `fix`."""

    def find(self, path: Path) -> tuple[Mapping[str, Path], Sequence[Exception], Sequence[OtherFile]]:
        """The files at and below `path`, by their names in the index, those that cannot be read, and others.

        The others are documents that the reader could read, but was not asked for.
        """

    def read(self, path: Path, *, source: str, known: str = "") -> SourceText | None:
        """The text of a file; None may come back where it still has the hash `known`."""

    def document_id(self, source: str) -> str:
        """The id of the document of that name."""

    def cut(self, text: str, *, source: str) -> tuple[Sequence[Node], Sequence[Node]]:
        """The sections, and the sentences of all of them, in order; each sentence knows its section."""

    def warnings(self, text: str, sections: Sequence[Any]) -> Sequence[str]:
        """What of a text is not read as what it is, a sentence each: it is too much."""

    def conversion(self, text: str) -> Conversion | None:
        """What a text was made from, where that was no Markdown."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A document that could not be ingested, with the reason and what to do."""

    source: str
    reason: str
    fix: str

    @classmethod
    def of(cls, error: Exception) -> Problem:
        """The problem that a reader's error describes."""
        source, reason, fix = (str(getattr(error, name)) for name in ("source", "reason", "fix"))
        return cls(source, reason, fix)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that should be in the index; without a `path` its text is in the index already."""

    source: str
    root: str
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A document of a folder that is not read for its format; `fix` says what to do so that it is."""

    candidate: Candidate
    format: str
    fix: str
    mentioned: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What is to be indexed, which folders were searched whole, and what is wrong with the rest."""

    candidates: tuple[Candidate, ...]
    folders: frozenset[str]
    problems: tuple[Problem, ...]
    left_out: tuple[LeftOut, ...] = ()


def find_documents(paths: Iterable[Path | str], *, reader: Reader, root: str | None = None) -> Found:
    """The documents at and below `paths`, in their order; a file reached twice comes once.

    Each belongs to the folder that it was found in. Given a `root`, all belong to that instead, and no
    folder counts as searched whole, so that no document counts as deleted.
    """
    candidates: list[Candidate] = []
    problems: list[Problem] = []
    left_out: list[LeftOut] = []
    folders: set[str] = set()
    seen: set[str] = set()
    for path in map(Path, paths):
        if unreachable := _unreachable(path):
            problems.append(unreachable)
            continue
        folder = path if path.is_dir() else path.parent
        own_root = root or str(folder.resolve())
        try:
            files, errors, others = reader.find(path)
        except reader.unreadable as error:
            problems.append(Problem.of(error))
            continue
        reported = list(map(Problem.of, errors))
        problems += reported
        unreadable_root = any(problem.source == path.name for problem in reported)
        if root is None and path.is_dir() and not unreadable_root:
            folders.add(own_root)
        for source, file in files.items():
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                candidates.append(Candidate(source, own_root, file))
        left_out += (
            LeftOut(Candidate(other.source, own_root, other.path), other.format, other.fix, other.mentioned)
            for other in others
        )
    unread = tuple(other for other in left_out if os.path.realpath(str(other.candidate.path)) not in seen)
    return Found(tuple(candidates), frozenset(folders), tuple(problems), unread)


def with_known(found: Found, stored: Iterable[DocumentInfo]) -> Found:
    """`found` with what was left out but is indexed from that folder: who added it once wants it kept."""
    known = {(info.source, info.root) for info in stored}

    def is_known(other: LeftOut) -> bool:
        return (other.candidate.source, other.candidate.root) in known

    return replace(
        found,
        candidates=(*found.candidates, *(other.candidate for other in found.left_out if is_known(other))),
        left_out=tuple(other for other in found.left_out if not is_known(other)),
    )


def _unreachable(path: Path) -> Problem | None:
    """Why a path cannot even be looked at; that nothing is there the reader says."""
    try:
        path.stat()
        path.resolve()  # fails where the working folder was deleted
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not path.exists():
            return None
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Problem(f"{str(path)!r:.80}".strip("'"), str(reason).lower(), "Check the path.")
    return None


def without_collisions(found: Found, stored: Iterable[DocumentInfo]) -> Found:
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


def vanished(found: Found, stored: Iterable[DocumentInfo]) -> list[str]:
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


def _still_there(info: DocumentInfo, found: Found) -> bool:
    """True where the root of an indexed document still claims its name."""
    if info.root in found.folders:
        return False  # it is among the candidates, or has vanished
    return info.root == UPLOAD_ROOT or (Path(info.root) / info.source).exists()
