"""The documents of an ingest: which files they are, which name each has in the index, which are gone.

A document is its root and its path in it. Its source, the name in the index, is that path. If another root
has a document of that source, the last part of the root stands in front, or the last two, if they differ
(`b/docs/index.md`), else a hash of the root.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Protocol

from pipeline.nodes import Node
from pipeline.stores.base import DocumentInfo
from readers.files import FoundFiles
from readers.source import LeftOut, ReaderError, Source

UPLOAD_ROOT = "upload"


class Reader(Protocol):
    """Finds files, reads them and cuts them into nodes; only the implementation knows their formats."""

    def find(self, path: Path, *, known: Collection[str] = ()) -> FoundFiles:
        """Return the files at and below `path`; of a folder also those `known` by source."""

    def read(self, path: Path, *, source: str, known: str = "") -> Source | None:
        """Return the text of a file, called `source` in the index; None may mean that its hash is `known`.

        Raises `ReaderError`.
        """

    def cut(self, text: str, *, source: str) -> tuple[Sequence[Node], Sequence[Node]]:
        """Return the sections and the sentences of them all, in order; each sentence knows its section."""


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
    problems: Sequence[ReaderError]
    left_out: Sequence[LeftOut]


def find_documents(
    paths: Iterable[Path | str],
    *,
    reader: Reader,
    indexed: Collection[DocumentInfo],
    uploads: Path | None = None,
) -> FoundDocuments:
    """Return the documents at and below `paths`, and the `indexed` ones of these folders that are gone.

    Each belongs to the folder that it was found in, and a file reached twice comes once. The documents of the
    folder `uploads`, of which other machines may have other files, belong to `UPLOAD_ROOT`, and none of them
    counts as gone.
    """
    candidates: dict[Path, Candidate] = {}  # by path without links
    left_out: dict[Path, LeftOut] = {}
    unread: dict[str, set[str]] = {}  # files and folders with problems, by root
    problems: list[ReaderError] = []
    owners: dict[str, DocumentInfo | Candidate] = {info.source: info for info in indexed}
    for path in map(Path, paths):
        try:
            folder = (path if path.is_dir() else path.parent).resolve()
            is_upload = uploads is not None and folder == uploads.resolve()
            own_root = UPLOAD_ROOT if is_upload else str(folder)
            known = {name for info in indexed if info.root == own_root for name in paths_of(info)}
            found = reader.find(path, known=known)
        except (OSError, ValueError) as error:  # a NUL in it, or the working folder was deleted
            reason = str((isinstance(error, OSError) and error.strerror) or error).lower()
            problems.append(ReaderError(repr(str(path)).strip("'"), reason=reason, fix="Check the path."))
            continue
        problems += found.problems
        left_out |= {folder / one.source: one for one in found.left_out}
        bad = {problem.source for problem in found.problems}
        if not is_upload and path.is_dir() and path.name not in bad:
            unread[own_root] = bad
        own_paths = {file.source for file in found.files}
        for file in found.files:
            if file.path not in candidates:
                source = _source(own_root, file.source, owners, own_paths)
                candidates[file.path] = owners[source] = Candidate(source, own_root, file.path)
    present = {candidate.source for candidate in candidates.values()}
    missing = [info for info in indexed if info.root in unread and info.source not in present]
    gone = [info.source for info in missing if unread[info.root].isdisjoint(_with_folders(paths_of(info)))]
    ignored = [one for path, one in left_out.items() if path not in candidates]
    return FoundDocuments(list(candidates.values()), gone, problems, ignored)


def paths_of(document: DocumentInfo | Candidate) -> Iterator[str]:
    """Yield the paths in its root that a document's file may have: its source, and that without a label."""
    yield document.source
    for label in _labels(document.root):
        if document.source.startswith(label):
            yield document.source[len(label) :]


def _with_folders(paths: Iterable[str]) -> Iterator[str]:
    """Yield these paths, and the folders that they lie in, with a slash."""
    for path in paths:
        yield path
        yield from (f"{folder.as_posix()}/" for folder in PurePosixPath(path).parents)


@cache
def _labels(root: str) -> list[str]:
    """Return a root's last part, its last two, and a hash of the whole root, each with a slash behind."""
    parts, digest = Path(root).parts[1:], hashlib.sha256(root.encode()).hexdigest()[:8]
    return [f"{'/'.join(label)}/" for label in (parts[-1:], parts[-2:], [digest]) if label]


def _source(
    root: str, path: str, owners: Mapping[str, DocumentInfo | Candidate], own_paths: Collection[str]
) -> str:
    """Return the source of the file at `path` in `root`: the one that it has in the index, or a free one.

    `owners` has the documents by source, `own_paths` are the root's, which no labelled source may be.
    """
    names = [path, *(label + path for label in _labels(root) if label + path not in own_paths)]
    kept = [name for name in names if name in owners and owners[name].root == root]
    if kept or path not in owners:
        return next(iter(kept), path)
    owner, owned = owners[path].root, paths_of(owners[path])
    if owner != UPLOAD_ROOT and not any((Path(owner) / name).exists() for name in owned):  # it was moved
        return path
    others = [label + path for label in _labels(owner)]
    return next(name for name in names if name not in owners and name not in others)
