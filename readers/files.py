"""Finds the files of documents and reads their text.

Folders are read recursively. Everything that is found and not read is recorded with the reason. Symbolic
links in folders are not followed, so that no circle is entered and nothing outside is read. A file that is
named is read whatever its format.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from readers.errors import ReaderError
from readers.formats import EVERY, MARKDOWN, MARKDOWN_ONLY, TEXT, format_of, not_chosen
from readers.ignore import IGNORE_FILES, IgnoreFile, ignored_by, read_ignore_file
from readers.includes import IncludeBudget, expand

BOM = "\ufeff"
MARKED = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
"""Encodings that are read only with a byte order mark; the mark of UTF-32 begins with that of UTF-16."""
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


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The largest file that is read, in bytes: a text file, and a file of a format that is converted."""

    text: int
    converted: int

    def of(self, name: str) -> int:
        """The limit for a file of that name."""
        return self.text if format_of(name) in (None, MARKDOWN, TEXT) else self.converted


@dataclass(frozen=True, slots=True)
class Source:
    """A file's text, and the SHA-256 of its bytes and of what it includes (hexadecimal).

    The byte order mark is not part of the text. `lines` has the file's own line (from 1) of each line of the
    text, where files are included; `not_included` names files that would have been too much.
    """

    text: str
    hash: str
    lines: Sequence[int] = ()
    not_included: Sequence[str] = ()


def find_files(
    paths: Iterable[Path | str],
    *,
    limits: FileLimits,
    formats: frozenset[str] = MARKDOWN_ONLY,
    named: frozenset[str] = EVERY,
    known: Collection[str] = (),
) -> FoundFiles:
    """The files at and below `paths`, in the order of the parts of their sources.

    Of folders, files of these `formats` are read, and files whose source is `known`: they are indexed, so
    that one over the limit is a problem. Files that `paths` names are read if their format is in `named`. A
    file reached twice is listed once, under the first name.
    """
    search = _Search(limits, formats, known)
    for path in map(Path, paths):
        kind = format_of(path.name)
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except OSError as error:
            search.problems.append(_unreadable(str(path), error))
            continue
        if is_folder:
            search.walk(path)
        elif kind is not None and kind.name in named:
            search.keep(Path(os.path.realpath(path)), path.name, is_named=True)
        else:
            fix = "Convert it, or name it .md if it is Markdown."
            search.problems.append(ReaderError(path.name, reason="not a Markdown file", fix=fix))
    files = sorted(search.files.values(), key=lambda file: file.source.split("/"))
    return FoundFiles(files, search.problems, search.left_out)


@dataclass(slots=True)
class _Search:
    """Collects the files at and below several paths; the files by their paths without links."""

    limits: FileLimits
    formats: frozenset[str]
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
                self.problems.append(_unreadable(folder or root.name, error))
                continue
            files = {entry.name for entry in listing if not entry.is_dir(follow_symlinks=False)}
            own = [
                read_ignore_file(root / folder / name, folder=folder)
                for name in IGNORE_FILES
                if name in files
            ]
            self.problems += [file.problem for file in own if file.problem]
            ignoring = (*ignoring, *own)
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
        limit = self.limits.of(source)
        try:
            status = path.stat()
            is_new = not is_named and source not in self.known
            if is_new and status.st_size > limit and stat.S_ISREG(status.st_mode):
                self._leave_out(source, f"over {limit / 1_000_000:g} MB")
                return
            _check_name(source)
            _check_file(status, max_bytes=limit, source=source)
        except OSError as error:
            self.problems.append(_unreadable(source, error))
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
        is_chosen = known.name in self.formats or source in self.known
        return "" if known.installed and is_chosen else not_chosen(known, self.formats)

    def _leave_out(self, source: str, reason: str) -> None:
        self.left_out.append(LeftOut(source.encode("utf-8", "backslashreplace").decode(), reason))


def _check_name(source: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in source):
        raise ReaderError(source, reason="its name is not UTF-8", fix="Rename it and ingest again.")
    if len(lines := source.splitlines()) > 1:  # it would write lines of its own wherever it is cited
        reason = "its name has a line break"
        raise ReaderError(" ".join(lines), reason=reason, fix="Rename it and ingest again.")


def read_source(
    path: Path, *, max_bytes: int, source: str = "", budget: IncludeBudget | None = None
) -> Source:
    """The text of the file at `path`, with the files that it includes; errors call it `source`.

    Included files count towards the `budget`, which the documents of one ingest share.

    Raises:
        ReaderError: missing, a link, unreadable, too large, binary, of an unknown encoding or empty.
    """
    source = source or path.name
    data = read_bytes(path, max_bytes=max_bytes, source=source)
    text, digest = decoded(data, source=source), hashlib.sha256(data)
    if not text.strip():
        raise ReaderError(source, reason="the file is empty", fix="Write something into it, or remove it.")
    depth = source.count("/") if path.as_posix().endswith(f"/{source}") else 0

    def read(target: Path) -> str:
        data = read_bytes(target, max_bytes=max_bytes, source=target.name)
        return decoded(data, source=target.name)

    budget = budget or IncludeBudget(max_bytes)
    expanded = expand(text, path=path, root=path.parents[depth], read=read, budget=budget)
    if expanded is None:
        return Source(text, digest.hexdigest())
    digest.update("\0".join(["", *expanded.included]).encode())
    return Source(expanded.text, digest.hexdigest(), expanded.lines, expanded.left_out)


def read_bytes(path: Path, *, max_bytes: int, source: str) -> bytes:
    """The bytes of a file of at most `max_bytes`; raises `ReaderError`.

    `path` was absolute and without links when the file was found; one that has become a link is not read.
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            status = os.fstat(file.fileno())
            _check_file(status, max_bytes=max_bytes, source=source)
            if os.path.realpath(path) != str(path) or not os.path.samestat(status, os.lstat(path)):
                raise ReaderError(source, reason="it has become a link", fix="Ingest again.")
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise _unreadable(source, error) from error
    if len(data) > max_bytes:  # it grew between the two calls
        raise _too_large(source, len(data), max_bytes)
    return data


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file as `open` does; for a pipe, without waiting for somebody who writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_file(status: os.stat_result, *, max_bytes: int, source: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ReaderError(source, reason="it is not a regular file", fix="Save its content as a file.")
    if status.st_size > max_bytes:
        raise _too_large(source, status.st_size, max_bytes)


def decoded(data: bytes, *, source: str) -> str:
    """The text of a file without a byte order mark; raises `ReaderError`.

    Where all lines end with CR alone, as on old Macintoshes, they end with LF in the text.
    """
    encoding = next((name for mark, name in MARKED.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding).removeprefix(BOM)
    except UnicodeDecodeError as error:
        reason = f"not {encoding.upper()} (byte 0x{data[error.start]:02X} at {error.start:,})"
        raise ReaderError(source, reason=reason, fix="Save it as UTF-8 and ingest again.") from error
    if "\0" in text:
        reason = f"not text (NUL byte at {data.index(0):,})"
        raise ReaderError(source, reason=reason, fix="Save it as UTF-8 text, or rename it.")
    return text if "\n" in text else text.replace("\r", "\n")


def _unreadable(source: str, error: OSError) -> ReaderError:
    if isinstance(error, FileNotFoundError):
        return ReaderError(source, reason="no such file or folder", fix="Check the path.")
    reason = error.strerror or type(error).__name__
    return ReaderError(source, reason=reason, fix="Make it readable, or leave it out.")


def _too_large(source: str, size: int, max_bytes: int) -> ReaderError:
    reason = f"{size:,} bytes, over the limit of {max_bytes:,}"
    return ReaderError(source, reason=reason, fix="Divide it, or raise the limit in the settings.")
