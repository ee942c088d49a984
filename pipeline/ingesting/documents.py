"""Which documents an ingest is about: found in folders, told apart by root, gone, or kept from the index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from pipeline.stores.base import DocumentInfo, SectionStore

UPLOAD_ROOT = "upload"


class FileText(Protocol):
    """A file's text, as offsets count in it, and the hash of its bytes."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def hash(self) -> str:
        """The hash."""


class FoundFile(Protocol):
    """A file and its name in the index."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def source(self) -> str:
        """Its path relative to the folder that was searched, with slashes."""


class FileProblem(Protocol):
    """A file that was left out, with the reason and what to do about it."""

    @property
    def source(self) -> str:
        """Which."""

    @property
    def reason(self) -> str:
        """Why."""

    @property
    def fix(self) -> str:
        """What to do."""


class FindFiles(Protocol):
    """Finds files in folders."""

    def __call__(
        self, paths: Iterable[Path | str], *, max_bytes: int
    ) -> tuple[Sequence[FoundFile], Sequence[FileProblem]]:
        """The files at and below `paths`, and those that cannot be read."""


class ReadFile(Protocol):
    """Reads a file."""

    def __call__(self, path: Path, *, max_bytes: int, source: str) -> FileText:
        """The file's text; raises what `Corpus.unreadable` says."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """How files are found, read and named."""

    find: FindFiles
    read: ReadFile
    document_id: Callable[[str], str]
    unreadable: type[Exception]  # raised by `find` and `read`: has `source`, `reason` and `fix`


@dataclass(frozen=True, slots=True)
class Problem:
    """A document that could not be ingested, with the reason and what to do."""

    source: str
    reason: str
    fix: str

    @classmethod
    def of(cls, error: Exception | FileProblem, *, source: str = "") -> Problem:
        """The problem that a reader's error or report describes."""
        reason = str(getattr(error, "reason", error))
        return cls(str(getattr(error, "source", source)), reason, str(getattr(error, "fix", "")))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that should be in the index; `load` reads its text now."""

    source: str
    root: str
    load: Callable[[], FileText]


@dataclass(frozen=True, slots=True)
class Found:
    """What is to be indexed, which folders were searched whole, and what is wrong with the rest."""

    candidates: tuple[Candidate, ...]
    folders: frozenset[str]
    problems: tuple[Problem, ...]


def find_documents(
    paths: Iterable[Path | str], *, corpus: Corpus, max_bytes: int, root: str | None = None
) -> Found:
    """The documents at and below `paths`, in their order; a file reached twice comes once.

    Each belongs to the folder that it was found in. Given a `root`, all belong to that instead, and no
    folder counts as searched whole: nothing will be taken for deleted.
    """
    candidates: list[Candidate] = []
    problems: list[Problem] = []
    folders: set[str] = set()
    seen: set[str] = set()
    for path in map(Path, paths):
        folder = path if path.is_dir() else path.parent
        own_root = root or str(folder.resolve())
        try:
            files, reported = corpus.find([path], max_bytes=max_bytes)
        except corpus.unreadable as error:
            problems.append(Problem.of(error))
            continue
        problems += map(Problem.of, reported)
        unreadable_root = any(problem.source == path.name for problem in reported)
        if root is None and path.is_dir() and not unreadable_root:
            folders.add(own_root)
        for file in files:
            real = os.path.realpath(file.path)
            if real not in seen:
                seen.add(real)
                load = _Loader(corpus, file, max_bytes)
                candidates.append(Candidate(file.source, own_root, load))
    return Found(tuple(candidates), frozenset(folders), tuple(problems))


def without_collisions(found: Found, stored: Iterable[DocumentInfo]) -> Found:
    """`found` without the documents whose name another root has already, which become problems.

    Where the other root does not have the file any more, the document has moved: it is kept.
    """
    owners = {info.source: info.root for info in stored if _still_there(info, found)}
    kept: list[Candidate] = []
    problems = list(found.problems)
    for candidate in found.candidates:
        owner = owners.setdefault(candidate.source, candidate.root)
        if owner == candidate.root:
            kept.append(candidate)
            continue
        reason = f"'{candidate.root}' and '{owner}' both have a file of that name"
        fix = "Ingest the folder that contains both instead, or rename or delete one."
        problems.append(Problem(candidate.source, reason, fix))
    return replace(found, candidates=tuple(kept), problems=tuple(problems))


def vanished(found: Found, stored: Iterable[DocumentInfo]) -> list[str]:
    """The sources that are indexed from the searched folders, but are there no more.

    One that is there and cannot be read, or lies in a folder that cannot, keeps its former version.
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


def from_index(sections: SectionStore, info: DocumentInfo) -> Candidate:
    """A document to be made anew from the text in the index."""
    return Candidate(info.source, info.root, _StoredLoader(sections, info))


def _still_there(info: DocumentInfo, found: Found) -> bool:
    """True where the root of an indexed document still claims its name."""
    if info.root in found.folders:
        return False  # it is among the candidates, or has vanished
    return info.root == UPLOAD_ROOT or (Path(info.root) / info.source).exists()


@dataclass(frozen=True, slots=True)
class _Loader:
    corpus: Corpus
    file: FoundFile
    max_bytes: int

    def __call__(self) -> FileText:
        return self.corpus.read(self.file.path, max_bytes=self.max_bytes, source=self.file.source)


@dataclass(frozen=True, slots=True)
class _StoredText:
    text: str
    hash: str


@dataclass(frozen=True, slots=True)
class _StoredLoader:
    sections: SectionStore
    info: DocumentInfo

    def __call__(self) -> FileText:
        return _StoredText(self.sections.document(self.info.source).text, self.info.hash)
