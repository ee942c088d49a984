"""Search for document files.

Folders are searched recursively, except for files that `.gitignore` and `.athenaignore` exclude by git's
rules. Every file that is found but not read is recorded with the reason. Symbolic links in folders are not
followed: this avoids cycles, and no file outside the folder is read. A file that is named directly may have
any supported format.
"""

from __future__ import annotations

import os
import re
import stat
import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from readers.formats import INSTALL, MARKDOWN, format_of
from readers.source import LeftOut, ReaderError, read_bytes, unreadable

MAX_DEPTH = 100  # nested folders
UNKNOWN_ENDING = "of unknown ending"
IGNORE_FILES = (".gitignore", ".athenaignore")
"""In rising order of precedence: in the same folder, `.athenaignore` overrides `.gitignore`."""
MAX_BYTES, MAX_LINES, MAX_DOUBLE_STARS = 100_000, 1_000, 2
"""Limits of one ignore file, and of one pattern: with n `**`, matching takes (path depth)ⁿ steps."""

_STAR = "[^/]*"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to read: its path with symbolic links resolved, and its path below the root, with `/`."""

    path: Path
    source: str


@dataclass(slots=True)
class FoundFiles:
    """The result of a search: files to read, sorted by source; errors; and every omitted file or folder."""

    files: list[FoundFile] = field(default_factory=list)
    problems: list[ReaderError] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def find_files(
    paths: Iterable[Path | str], *, max_bytes: int, all_formats: bool = False, known: Collection[str] = ()
) -> FoundFiles:
    """Return the files at and below `paths`, sorted by the folders and names of their sources.

    In folders, only Markdown files and `known` (indexed) sources are found, or all formats if `all_formats`.
    Files over `max_bytes` are left out, but `known` files and files named in `paths` stay, so that reading
    them raises the error. Named files may have any supported format. A file found twice keeps its first name.
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
            search.problems.append(ReaderError(path.name, reason="its name has an unknown ending", fix=fix))
    files = sorted(search.files.values(), key=lambda file: file.source.split("/"))
    return FoundFiles(files, search.problems, search.left_out)


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The patterns of one ignore file; its `folder`, relative to the root, ends in a slash or is empty."""

    folder: str
    name: str
    spec: GitIgnoreSpec


@dataclass(slots=True)
class _Search:
    """The results of a search in progress; `files` has each file by its path without symbolic links."""

    max_bytes: int
    all_formats: bool
    known: Collection[str]
    files: dict[Path, FoundFile] = field(default_factory=dict)
    problems: list[ReaderError] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def walk(self, root: Path) -> None:
        """Search a folder and all folders below it, in a loop: a tree may be deeper than Python's stack."""
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
        """Add a file to `files`, or record why not; named and `known` files may be over the size limit."""
        try:
            status = path.stat()
            is_new = not is_named and source not in self.known
            if is_new and status.st_size > self.max_bytes and stat.S_ISREG(status.st_mode):
                self._leave_out(source, f"over {self.max_bytes / 1_000_000:g} MB")
                return
            _check_name(source)
        except OSError as error:
            self.problems.append(unreadable(source, error))
        except ReaderError as error:
            self.problems.append(error)
        else:
            self.files.setdefault(path, FoundFile(path, source))

    def _why_not(self, source: str, entry: os.DirEntry[str], ignoring: tuple[IgnoreFile, ...]) -> str:
        """Return the reason to leave out a file or folder below a root; "" if there is none."""
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
    """Raise `ReaderError` for a name that is not UTF-8 or has a line break, which would break citations."""
    lines = source.splitlines()
    if len(lines) > 1 or re.search("[\ud800-\udfff]", source):
        reason = "its name is not UTF-8, or has a line break"
        raise ReaderError(" ".join(lines), reason=reason, fix="Rename it, and add it again.")


def ignored_by(files: tuple[IgnoreFile, ...], path: str) -> str:
    """Return the name of the ignore file that excludes `path`; "" if none does.

    `path` is relative to the root; folders end in a slash. The last of the files with a match decides.
    """
    for file in reversed(files):
        found = file.spec.check_file(path[len(file.folder) :]).include
        if found is not None:
            return file.name if found else ""
    return ""


def read_ignore_file(path: Path, *, folder: str) -> tuple[IgnoreFile, list[ReaderError]]:
    """Return the patterns of the ignore file at `path` in `folder`, and a list with its first error, if any.

    A file that is unreadable, too large or a symbolic link has no patterns; git follows no such link either.
    """
    source, patterns, problems = folder + path.name, list[GitIgnoreSpecPattern](), list[ReaderError]()
    try:
        data = read_bytes(path, max_bytes=MAX_BYTES, source=source)
    except ReaderError as error:
        data, problems = b"", [error]
    # File names come with surrogates for bytes that are not UTF-8: patterns are read likewise.
    lines = data.decode("utf-8-sig", "surrogateescape").splitlines()
    for number, line in enumerate(lines[:MAX_LINES], start=1):
        try:
            patterns.append(_pattern(line))
        except ValueError as error:
            reason = f"line {number} is not a pattern: {error}"
            problems.append(ReaderError(source, reason=reason, fix="Correct or remove it."))
    if len(lines) > MAX_LINES:
        reason = f"only its first {MAX_LINES:,} lines are used"
        problems.append(ReaderError(source, reason=reason, fix="Name folders instead of files."))
    return IgnoreFile(folder, path.name, GitIgnoreSpec(patterns, backend="simple")), problems[:1]


def _pattern(line: str) -> GitIgnoreSpecPattern:
    """Return a line's compiled pattern; raise `ValueError` if it is invalid or takes too long to match."""
    if line.rstrip("/*").count("**") > MAX_DOUBLE_STARS:
        raise ValueError(f"{line[:40]!r} has too many **")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # for `[[` in a character class
            pattern = GitIgnoreSpecPattern(line)
            if pattern.regex is not None:
                pattern = GitIgnoreSpecPattern(re.compile(_linear(pattern.regex.pattern)), pattern.include)
    except (re.error, GitIgnorePatternError) as error:
        raise ValueError(f"{line[:40]!r} matches nothing") from error
    return pattern


def _linear(regex: str) -> str:
    """Return `regex` with stars that do not backtrack: the first of two in a name matches lazily."""
    before, *parts = regex.split(_STAR)
    inner = [f"(?>{_STAR}?{part})" if "/" not in part.replace("[^/]", "") else _STAR + part for part in parts]
    return "".join([before, *inner[:-1], *(_STAR + part for part in parts[-1:])])
