"""Which files are to be read, and the text of those that are Markdown.

A folder is read recursively, in the order of the paths' parts. Left out are hidden folders, what
`.gitignore` and `.athenaignore` leave out, files of no wanted format, and symbolic links that
lead out of the folder or to what is read anyway (so no circle is ever entered). A file that is named is read
whatever its format (`readers/formats.py`).
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from readers.errors import ReaderError
from readers.formats import EVERY, MARKDOWN_ONLY, format_of, how_to_read, is_text
from readers.ignore import IgnoreRules, load_rules
from readers.includes import Expanded, IncludeBudget, expand

BOM = "\ufeff"
WESTERN = "cp1252"
"""Windows' code page of Western Europe, which has all letters of Latin-1 where that has them."""
MOST_WESTERN = 1 / 3  # of a text's bytes are above 127: in an alphabet of another script, most are
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
CHARACTER = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")  # how one of UTF-8 begins: a damaged text of it has such

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to be read, and its name in the index."""

    path: Path
    source: str
    """The path relative to the corpus root, with slashes; for a file named explicitly, its name."""
    real: str = ""
    """Its path without links."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file's text, as offsets count it, and the SHA-256 of its bytes and what it includes (hexadecimal).

    The byte order mark is not part of the text; line endings are kept; included files are read in.
    """

    text: str
    hash: str
    lines: Sequence[int] = ()
    """Where files are included: the own line (from 1) of each line of the text."""
    not_included: Sequence[str] = ()
    """Files that it includes and that were left out, because it would be too much."""
    encoding: str = ""
    """What it is written in where that is not UTF-8."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file of a format that its folder is not read for; `fix` says what to do so that it is."""

    path: Path
    source: str
    format: str
    fix: str
    mentioned: bool
    """Whether that is worth a word; it is not where most files of the format are no documents."""


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The largest file that is read, in bytes: of text, and of a format whose text is only a part of it."""

    text: int
    converted: int

    def of(self, name: str) -> int:
        """The limit for a file of that name."""
        return self.text if is_text(name) else self.converted


@dataclass(slots=True)
class FoundFiles:
    """What was found at and below some paths: the files by source, those that cannot be read, and others.

    The others could be read, but are of formats that folders are not read for.
    """

    files: list[FoundFile] = field(default_factory=list)
    problems: list[ReaderError] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def find_files(
    paths: Iterable[Path | str],
    *,
    limits: FileLimits,
    formats: frozenset[str] = MARKDOWN_ONLY,
    named: frozenset[str] = EVERY,
) -> FoundFiles:
    """The files at and below `paths`: of folders those of some `formats`, of named ones those of more.

    A file reached twice is listed once, under the first name.

    Raises:
        ReaderError: two different files would have the same source.
    """
    search = _Search(limits, formats, named=named)
    for path in paths:
        search.add(Path(path))
    search.found.files.sort(key=lambda file: file.source.split("/"))
    return search.found


def read_source(
    path: Path, *, max_bytes: int, source: str = "", real: str = "", budget: IncludeBudget | None = None
) -> Source:
    """The text of the file at `path`, called `source` (by default its name) in errors.

    `real` is its path without links, as it was found: what is a link by now is not read. What it includes
    counts towards the `budget`, which the documents of an ingest share.

    Raises:
        ReaderError: missing, unreadable, too large, binary, not UTF-8 or empty.
    """
    source = source or path.name
    data = read_bytes(path, max_bytes=max_bytes, source=source, real=real)
    encoding = WESTERN if _is_western(data) else ""
    text = decoded(data.decode(encoding).encode() if encoding else data, source=source)
    digest = hashlib.sha256(data)
    expanded = _expand(text, path, root=_root(path, source), max_bytes=max_bytes, budget=budget)
    if expanded is None:
        return Source(text, digest.hexdigest(), encoding=encoding)
    digest.update("\0".join(["", *expanded.included]).encode())
    return Source(expanded.text, digest.hexdigest(), expanded.lines, expanded.left_out, encoding)


def _root(path: Path, source: str) -> Path:
    """The folder that the source is relative to; the file's own where it has another name."""
    absolute = path.absolute()
    depth = source.count("/") if absolute.as_posix().endswith(f"/{source}") else 0
    return absolute.parents[depth]


def _expand(
    text: str, path: Path, *, root: Path, max_bytes: int, budget: IncludeBudget | None
) -> Expanded | None:
    """The text with what it includes from `root`, the folder that sources are relative to."""

    def read(included: Path) -> str:
        try:
            data = read_bytes(included, max_bytes=max_bytes, source=included.name, real=str(included))
            return _decode(data, source=included.name).removeprefix(BOM)
        except ReaderError as error:
            raise ValueError(str(error)) from error

    return expand(text, path=path, root=root, read=read, max_characters=max_bytes, budget=budget)


def read_bytes(path: Path, *, max_bytes: int, source: str, real: str = "") -> bytes:
    """The bytes of a file of at most `max_bytes`; raises `ReaderError`.

    `real` is its path without links: where a part of it has become one, it is not read.
    """
    try:
        _check_file(path.stat(), max_bytes=max_bytes, source=source)
        with _opened(path, real) as file:
            _check_file(os.fstat(file.fileno()), max_bytes=max_bytes, source=source)
            data = file.read(max_bytes + 1)
    except FileNotFoundError as error:
        raise _missing(source) from error
    except OSError as error:
        if real and error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ReaderError(source, reason="it has become a link", fix="Ingest again.") from error
        raise _unreadable(source, error) from error
    if len(data) > max_bytes:  # it grew between the two calls
        raise _too_large(source, len(data), max_bytes)
    return data


def _opened(path: Path, real: str) -> IO[bytes]:
    """A file, opened; one with a real path from folder to folder, none of which may be a link."""
    if not real or not hasattr(os, "O_NOFOLLOW") or os.open not in os.supports_dir_fd:
        return path.open("rb")
    entering = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
    top, *folders, name = Path(real).parts
    folder = os.open(top, entering)
    try:
        for part in folders:
            inner = os.open(part, entering, dir_fd=folder)
            os.close(folder)
            folder = inner
        # without waiting: a pipe would let nobody in before somebody writes
        return os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb")
    finally:
        os.close(folder)


def _check_file(status: os.stat_result, *, max_bytes: int, source: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ReaderError(source, reason="it is a folder", fix="Name the files in it.")
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
        raise ReaderError(source, reason="it is not a regular file", fix="Save its content as a file.")
    if status.st_size > max_bytes:
        raise _too_large(source, status.st_size, max_bytes)


def decoded(data: bytes, *, source: str) -> str:
    """The text of a file without a byte order mark; raises `ReaderError`."""
    text = _decode(data, source=source).removeprefix(BOM)
    if not text.strip():
        raise ReaderError(source, reason="the file is empty", fix="Write something into it, or remove it.")
    return text


def _is_western(data: bytes) -> bool:
    """Whether bytes that are not UTF-8 read as text of Western Europe, and not as anything else."""
    high = sum(byte > 127 for byte in data) if not data.isascii() else 0
    if not high or high > MOST_WESTERN * len(data) or data.startswith(UTF_16) or CHARACTER.search(data):
        return False
    try:
        return data.decode(WESTERN).replace("\t", "").replace("\r", "").replace("\n", "").isprintable()
    except UnicodeDecodeError:
        return False


def _decode(data: bytes, *, source: str) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 (byte 0x{data[error.start]:02X} at {error.start:,})"
        raise ReaderError(source, reason=reason, fix="Save it as UTF-8 and ingest again.") from error
    if "\0" in text:
        reason = f"not text (NUL byte at {data.index(0):,})"
        raise ReaderError(source, reason=reason, fix="Save it as UTF-8 text, or rename it.")
    return text


def _missing(source: str) -> ReaderError:
    return ReaderError(source, reason="no such file or folder", fix="Check the path.")


def _unreadable(source: str, error: OSError) -> ReaderError:
    reason = error.strerror or type(error).__name__
    return ReaderError(source, reason=reason, fix="Make it readable, or leave it out.")


def _too_large(source: str, size: int, max_bytes: int) -> ReaderError:
    reason = f"{size:,} bytes, over the limit of {max_bytes:,}"
    return ReaderError(source, reason=reason, fix="Split it, or raise the limit in the settings.")


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path
    real: str
    prefix: str
    """Relative to the root, with a trailing slash; empty for the root."""
    rules: IgnoreRules | None


class _Search:
    """The files found so far, under every root."""

    def __init__(self, limits: FileLimits, formats: frozenset[str], *, named: frozenset[str]) -> None:
        self.found = FoundFiles()
        self._limits = limits
        self._formats = formats
        self._named = named
        self._seen: set[str] = set()
        self._real_paths: dict[str, str] = {}

    def add(self, path: Path) -> None:
        """Search the file or folder at `path`, which the caller named."""
        try:
            if stat.S_ISDIR(path.stat().st_mode):
                self._add_tree(path)
            elif (known := format_of(path.name)) and known.name in self._named:
                self._add_file(path, real=os.path.realpath(path), source=path.name)
            else:
                fix = "Convert it, or name it .md if it is Markdown."
                self.found.problems.append(ReaderError(path.name, reason="not a Markdown file", fix=fix))
        except FileNotFoundError:
            self.found.problems.append(_missing(str(path)))
        except OSError as error:
            self.found.problems.append(_unreadable(str(path), error))

    def _add_tree(self, root: Path) -> None:
        real_root = os.path.realpath(root)
        self._walk(_Folder(root, real_root, "", None), real_root)

    def _walk(self, root: _Folder, real_root: str) -> None:
        """Read real files first and links last, so that a file keeps its own name.

        A loop with a stack of its own: a tree may be deeper than Python's.
        """
        folders, links = [root], list[tuple[Path, str, IgnoreRules]]()
        entered: set[str] = set()
        while folders or links:
            if not folders:
                folders += self._follow(*links.pop(), real_root=real_root)
                continue
            folder = folders.pop()
            if folder.real not in entered:
                entered.add(folder.real)
                more_folders, more_links = self._read_folder(folder)
                folders += more_folders
                links = sorted([*links, *more_links], key=lambda link: link[1], reverse=True)

    def _read_folder(self, folder: _Folder) -> tuple[list[_Folder], list[tuple[Path, str, IgnoreRules]]]:
        """Add a folder's own files; return its folders and its links, with their names and rules."""
        folders: list[_Folder] = []
        links: list[tuple[Path, str, IgnoreRules]] = []
        try:
            with os.scandir(folder.path) as entries:
                listing = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.found.problems.append(_unreadable(folder.prefix or folder.path.name, error))
            return [], []
        rules, problems = load_rules(folder.path, prefix=folder.prefix, above=folder.rules)
        self.found.problems += problems
        for entry in listing:
            path, source = Path(entry.path), folder.prefix + entry.name
            if entry.is_symlink():
                links.append((path, source, rules))
            elif entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and not rules.ignore(source + "/"):
                    folders.append(_Folder(path, f"{folder.real}/{entry.name}", source + "/", rules))
            elif self._wants(path, source, rules):
                self._add_file(path, real=f"{folder.real}/{entry.name}", source=source)
        return folders, links

    def _follow(self, path: Path, source: str, rules: IgnoreRules, *, real_root: str) -> list[_Folder]:
        """Add the file that a link leads to, or return the folder, where that is within the root."""
        real = os.path.realpath(path)
        if not Path(real).is_relative_to(real_root):
            _logger.info("%s is a link out of the folder: not followed", source)
            return []
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except OSError as error:
            if self._wants(path, source, rules):
                self.found.problems.append(_unreadable(source, error))
            return []
        if is_folder:
            hidden = path.name.startswith(".") or rules.ignore(source + "/")
            return [] if hidden else [_Folder(path, real, source + "/", rules)]
        if self._wants(path, source, rules):
            self._add_file(path, real=real, source=source)
        return []

    def _wants(self, path: Path, source: str, rules: IgnoreRules) -> bool:
        """Whether a file of a folder is to be read; one that is not, but could be, is noted."""
        known = format_of(source)
        if known is None or rules.ignore(source):
            return False
        if known.name in self._formats and known.installed:
            return True
        mentioned = known.mentioned or known.name in self._formats
        fix = how_to_read(known, chosen=self._formats)
        self.found.left_out.append(LeftOut(path, source, known.title, fix, mentioned))
        return False

    def _add_file(self, path: Path, *, real: str, source: str) -> None:
        if real in self._seen:
            return
        self._seen.add(real)
        try:
            _check_name(source)
            _check_file(path.stat(), max_bytes=self._limits.of(source), source=source)
        except OSError as error:
            self.found.problems.append(_unreadable(source, error))
        except ReaderError as error:
            self.found.problems.append(error)
        else:
            self._check_collision(source, real)
            self.found.files.append(FoundFile(path=path, source=source, real=real))

    def _check_collision(self, source: str, real: str) -> None:
        other = self._real_paths.setdefault(source, real)
        if other != real:
            reason = f"both {other!r} and {real!r} would have that name"
            raise ReaderError(source, reason=reason, fix="Ingest the folder that contains both instead.")


def _check_name(source: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in source):
        raise ReaderError(source, reason="its name is not UTF-8", fix="Rename it and ingest again.")
    if len(lines := source.splitlines()) > 1:  # it would write lines of its own wherever it is cited
        raise ReaderError(
            " ".join(lines), reason="its name has a line break", fix="Rename it and ingest again."
        )
