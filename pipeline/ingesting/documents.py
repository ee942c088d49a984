"""The documents of an ingest: which files they are, which name each has in the index, which are gone.

A document is its root and its path in it. Its source, the name in the index, is that path; where another root
has a document of that source, a label stands in front: the last parts of the root's path, as few as tell both
roots apart (`b/docs/index.md`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pipeline.nodes import Node
from pipeline.stores.base import DocumentInfo
from readers.errors import ReaderError
from readers.files import FoundFiles, LeftOut, Source

UPLOAD_ROOT = "upload"
LONGEST_PATH = 4_096
"""Characters of a path that are shown."""


class Reader(Protocol):
    """Finds files, reads them and cuts them into nodes; only the implementation knows their formats."""

    def find(self, path: Path, *, known: Collection[str] = ()) -> FoundFiles:
        """The files at and below `path`; of a folder also those `known` by source, whatever their format."""

    def read(self, path: Path, *, source: str, known: str = "") -> Source | None:
        """The text of a file, called `source` in the index; raises `ReaderError`.

        None may come back where the file still has the hash `known`.
        """

    def cut(
        self, text: str, *, source: str, own_lines: Sequence[int] = ()
    ) -> tuple[Sequence[Node], Sequence[Node]]:
        """The sections, and the sentences of all of them, in order; each sentence knows its section."""

    def warnings(self, text: str, sections: Sequence[Any]) -> Sequence[str]:
        """A sentence for each limit that a text exceeds, so that a part of it is read as plain text."""


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
    """The documents to be indexed, the sources of those that are gone, and what is not indexed."""

    candidates: Sequence[Candidate]
    gone: Sequence[str]
    problems: Sequence[Problem]
    left_out: Sequence[LeftOut]


def find_documents(
    paths: Iterable[Path | str], *, reader: Reader, indexed: Collection[DocumentInfo], root: str | None = None
) -> FoundDocuments:
    """The documents at and below `paths`, and the `indexed` ones of these folders that are gone.

    Each belongs to the folder that it was found in, and a file reached twice comes once. Given a `root`, all
    belong to that instead, and none counts as gone.
    """
    candidates, gone, problems = list[Candidate](), list[str](), list[Problem]()
    left_out: dict[str, LeftOut] = {}  # by path without links
    owners, seen, searched = {info.source: info for info in indexed}, set[str](), dict[str, FoundFiles]()
    for path in map(Path, paths):
        try:
            folder = path if path.is_dir() else path.parent
            own_root = root or str(folder.resolve())
            known = {name for info in indexed if info.root == own_root for name in paths_of(info)}
            found = reader.find(path, known=known)
        except (OSError, ValueError) as error:  # a NUL in it, or the working folder was deleted
            reason = str((isinstance(error, OSError) and error.strerror) or error).lower()
            problems.append(Problem(f"{str(path)!r:.{LONGEST_PATH}}".strip("'"), reason, "Check the path."))
            continue
        problems += map(Problem.of, found.problems)
        left_out |= {os.path.realpath(folder / one.source): one for one in found.left_out}
        if root is None and path.is_dir() and not any(one.source == path.name for one in found.problems):
            searched[own_root] = found
        own_paths = {file.source for file in found.files}
        for file in found.files:
            if (real := os.path.realpath(file.path)) not in seen:
                seen.add(real)
                source = _source(own_root, file.source, owners, own_paths)
                owners[source] = DocumentInfo("", source, own_root, "", "", 0, 0, 0, 0.0)
                candidates.append(Candidate(source, own_root, file.path))
    present = {candidate.source for candidate in candidates}
    for info in indexed:
        if info.root in searched and info.source not in present:
            bad = {problem.source for problem in searched[info.root].problems}
            folders = tuple(source for source in bad if source.endswith("/")) or ("\0",)
            if not any(name in bad or name.startswith(folders) for name in paths_of(info)):
                gone.append(info.source)
    return FoundDocuments(
        candidates, gone, problems, [one for real, one in left_out.items() if real not in seen]
    )


def paths_of(info: DocumentInfo) -> Iterator[str]:
    """The paths in its root that a document's file may have: its source, and that without its label."""
    yield info.source
    for label in _labels(info.root):
        if info.source.startswith(label):
            yield info.source[len(label) :]


def _labels(root: str) -> Iterator[str]:
    """The labels of a root, the shortest first; the last one is its hash."""
    parts = [part for part in Path(root).parts if part != os.sep]
    for number in range(1, len(parts) + 1):
        yield "/".join(parts[-number:]) + "/"
    yield hashlib.sha256(root.encode()).hexdigest()[:8] + "/"


def _source(root: str, path: str, owners: dict[str, DocumentInfo], own_paths: Collection[str]) -> str:
    """The source of the file at `path` in `root`: the one that it has in the index, or a free one.

    `owners` has the documents by source, `own_paths` are the root's, which no labelled source may be.
    """
    owner = owners.get(path)
    if owner is not None and owner.root == root:
        return path
    labelled = [label + path for label in _labels(root) if label + path not in own_paths]
    for source in reversed(labelled):
        if source in owners and owners[source].root == root:
            return source
    if owner is None or not _exists(owner):
        return path
    others = [label + path for label in _labels(owner.root)]
    return next(source for source in labelled if source not in owners and source not in others)


def _exists(info: DocumentInfo) -> bool:
    """Whether a document's file is still in its root; an upload's may be anywhere."""
    return info.root == UPLOAD_ROOT or any((Path(info.root) / name).exists() for name in paths_of(info))
