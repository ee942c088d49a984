"""Finds the files of documents.

Folders are searched recursively. Everything that is found and not read is recorded with the reason. Symbolic
links in folders are not followed, so that no circle is entered and nothing outside is read. A file that is
named is read whatever its format.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from readers.formats import INSTALL, MARKDOWN, format_of
from readers.ignore import IGNORE_FILES, IgnoreFile, ignored_by, read_ignore_file
from readers.source import ReaderError, check_file, unreadable

MAX_DEPTH = 100  # folders in folders
UNKNOWN_ENDING = "of unknown ending"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to be read: its path without links, and its path relative to the root with slashes."""

    path: Path
    source: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not read, or a folder (with a trailing slash) that is not searched, and why.

    The reason goes behind a number: "3 ignored by .gitignore".
    """

    source: str
    reason: str


@dataclass(slots=True)
class FoundFiles:
    """The result of a search: files to be read by source, errors, and everything that is left out."""

    files: list[FoundFile] = field(default_factory=list)
    problems: list[ReaderError] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def find_files(
    paths: Iterable[Path | str],
    *,
    max_bytes: int,
    all_formats: bool = False,
    known: Collection[str] = (),
) -> FoundFiles:
    """Return the files at and below `paths`, in the order of the parts of their sources.

    A file may have `max_bytes`. Of folders, Markdown files are read, or
    those of `all_formats`, and files whose source is `known`: they are indexed, so that one over the limit is
    a problem. A file that `paths` names is read whatever its format. A file reached twice is listed once,
    under the first name.
    """
    search = _Search(max_bytes, all_formats, known)
    for path in map(Path, paths):
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except OSError as error:
            search.problems.append(unreadable(str(path), error))
            continue
        if is_folder:
            search.walk(path)
        elif format_of(path.name):
            search.keep(Path(os.path.realpath(path)), path.name, is_named=True)
        else:
            fix = "Convert it, or name it .md if it is Markdown."
            search.problems.append(ReaderError(path.name, reason="of unknown ending", fix=fix))
    files = sorted(search.files.values(), key=lambda file: file.source.split("/"))
    return FoundFiles(files, search.problems, search.left_out)


@dataclass(slots=True)
class _Search:
    """Collects the files at and below several paths; the files by their paths without links."""

    max_bytes: int
    all_formats: bool
    known: Collection[str]
    files: dict[Path, FoundFile] = field(default_factory=dict)
    problems: list[ReaderError] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def walk(self, root: Path) -> None:
        """Search a folder and those below it: a loop, since a tree may be deeper than Python's stack."""
        root = Path(os.path.realpath(root))
        folders: list[tuple[str, tuple[IgnoreFile, ...]]] = [("", ())]
        while folders:
            folder, ignoring = folders.pop()
            try:
                with os.scandir(root / folder) as entries:
                    listing = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self.problems.append(unreadable(folder or root.name, error))
                continue
            files = {entry.name for entry in listing if not entry.is_dir(follow_symlinks=False)}
            for name in filter(files.__contains__, IGNORE_FILES):
                patterns, problems = read_ignore_file(root / folder / name, folder=folder)
                ignoring = (*ignoring, patterns)
                self.problems += problems
            for entry in listing:
                source = folder + entry.name + "/" * (entry.name not in files)
                if reason := self._why_not(source, entry, ignoring):
                    self._leave_out(source, reason)
                elif source.endswith("/"):
                    folders.append((source, ignoring))
                elif entry.name not in IGNORE_FILES:
                    self.keep(Path(entry.path), source)

    def keep(self, path: Path, source: str, *, is_named: bool = False) -> None:
        """Add a file to the found ones, or record why it cannot be read."""
        limit = self.max_bytes
        try:
            status = path.stat()
            is_new = not is_named and source not in self.known
            if is_new and status.st_size > limit and stat.S_ISREG(status.st_mode):
                self._leave_out(source, f"over {limit / 1_000_000:g} MB")
                return
            _check_name(source)
            check_file(status, max_bytes=limit, source=source)
        except OSError as error:
            self.problems.append(unreadable(source, error))
        except ReaderError as error:
            self.problems.append(error)
        else:
            self.files.setdefault(path, FoundFile(path, source))

    def _why_not(self, source: str, entry: os.DirEntry[str], ignoring: tuple[IgnoreFile, ...]) -> str:
        """Why a file or folder below a root is left out; "" where it is not."""
        known = None if source.endswith("/") else format_of(source)
        if entry.is_symlink():
            return "" if entry.name in IGNORE_FILES else "reached by a symbolic link"
        if by := ignored_by(ignoring, source):
            return f"ignored by {by}"
        if known is None and entry.name.startswith("."):
            return "" if entry.name in IGNORE_FILES else "hidden"
        if source.endswith("/"):
            return "nested too deep" if source.count("/") > MAX_DEPTH else ""
        if known is None:
            return UNKNOWN_ENDING
        if not known.installed:
            return f"{known.title} (reading it needs {INSTALL})"
        is_chosen = known is MARKDOWN or self.all_formats or source in self.known
        return "" if is_chosen else f"{known.title} (read with --formats all, or by name)"

    def _leave_out(self, source: str, reason: str) -> None:
        self.left_out.append(LeftOut(source.encode("utf-8", "backslashreplace").decode(), reason))


def _check_name(source: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in source):
        raise ReaderError(source, reason="its name is not UTF-8", fix="Rename it and ingest again.")
    if len(lines := source.splitlines()) > 1:  # it would write lines of its own wherever it is cited
        reason = "its name has a line break"
        raise ReaderError(" ".join(lines), reason=reason, fix="Rename it and ingest again.")
