"""The documents of an ingest: which files they are, which name each has in the index, which are gone.

A root folder and a path in it identify a document. The path is its source, the name in the index. If another
root has a document of that source, the root's last part is put in front, or its last two parts if those are
free (`b/docs/index.md`), else a hash of the root.
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
        """Return the files at and below `path`; in a folder, also other files whose source is `known`."""

    def read(self, path: Path, *, source: str, known: str = "") -> Source | None:
        """Return the text of a file, called `source` in the index; it may return None if the hash is `known`.

        Raises `ReaderError`.
        """

    def cut(self, text: str, *, source: str) -> tuple[Sequence[Node], Sequence[Node]]:
        """Return the sections of a text and all their sentences, in order; a sentence has a `section_id`."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that should be in the index; if `path` is None, its text is taken from the index."""

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

    A document's root is the folder in `paths` that it was found in; a file that is found twice is listed
    once. Documents of the folder `uploads` have the root `UPLOAD_ROOT` and are never gone: another machine
    may have their files. A path that cannot be read is one of the `problems`.
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
    """Yield the paths that a document's file may have in its root: its source, with and without a label."""
    yield document.source
    for label in _labels(document.root):
        if document.source.startswith(label):
            yield document.source[len(label) :]


def _with_folders(paths: Iterable[str]) -> Iterator[str]:
    """Yield these paths and all folders above them, each folder with a trailing slash."""
    for path in paths:
        yield path
        yield from (f"{folder.as_posix()}/" for folder in PurePosixPath(path).parents)


@cache
def _labels(root: str) -> list[str]:
    """Return a root's last part, its last two parts, and a hash of the root, each with a trailing slash."""
    parts, digest = Path(root).parts[1:], hashlib.sha256(root.encode()).hexdigest()[:8]
    return [f"{'/'.join(label)}/" for label in (parts[-1:], parts[-2:], [digest]) if label]


def _source(
    root: str, path: str, owners: Mapping[str, DocumentInfo | Candidate], own_paths: Collection[str]
) -> str:
    """Return the source of the file at `path` in `root`: the one that it has in the index, or a free one.

    `owners` has the documents by source. A source with a label must not be one of the root's `own_paths`.
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
