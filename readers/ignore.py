"""Which files `.gitignore` and `.athenaignore` leave out, by git's rules (`pathspec`)."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from readers.errors import ReaderError

IGNORE_FILES = (".gitignore", ".athenaignore")
"""In rising precedence: where both have a pattern for a file of their folder, the last one decides."""
MAX_BYTES, MAX_LINES, MAX_DOUBLE_STARS = 100_000, 1_000, 2
"""Of an ignore file, and of one pattern: matching takes a path's depth to the power of its `**`."""

_STAR = "[^/]*"


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The patterns of one ignore file; its `folder`, relative to the root, ends in a slash or is empty."""

    folder: str
    name: str
    spec: GitIgnoreSpec
    problem: ReaderError | None
    """The first error in the file, if there is one."""


def ignored_by(files: tuple[IgnoreFile, ...], path: str) -> str:
    """Return the name of the ignore file that excludes `path`; "" if none does.

    `path` is relative to the root; folders end in a slash. The last of the files with a match decides.
    """
    for file in reversed(files):
        found = file.spec.check_file(path[len(file.folder) :]).include
        if found is not None:
            return file.name if found else ""
    return ""


def read_ignore_file(path: Path, *, folder: str) -> IgnoreFile:
    """Return the patterns of the ignore file at `path`, in a `folder` as in `IgnoreFile`."""
    source, patterns, problem = folder + path.name, list[GitIgnoreSpecPattern](), None
    try:
        for number, line in enumerate(_lines(path, source=source), start=1):
            try:
                patterns.append(_pattern(line))
            except ValueError as error:
                reason = f"line {number} is not a pattern: {error}"
                problem = problem or ReaderError(source, reason=reason, fix="Correct or remove it.")
    except ReaderError as error:
        problem = error
    return IgnoreFile(folder, path.name, GitIgnoreSpec(patterns, backend="simple"), problem)


def _pattern(line: str) -> GitIgnoreSpecPattern:
    """One compiled pattern; raises `ValueError` for a line that is none, or takes too long to match."""
    if line.rstrip("/*").count("**") > MAX_DOUBLE_STARS:
        raise ValueError(f"{line[:40]!r} has too many **")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about `[[` in a class
            pattern = GitIgnoreSpecPattern(line)
            if pattern.regex is not None:
                pattern = GitIgnoreSpecPattern(re.compile(_linear(pattern.regex.pattern)), pattern.include)
    except (re.error, GitIgnorePatternError) as error:
        raise ValueError(f"{line[:40]!r} matches nothing") from error
    return pattern


def _linear(regex: str) -> str:
    """`regex` with stars that do not backtrack: of two in a name, the first takes as little as it can."""
    before, *parts = regex.split(_STAR)
    inner = [f"(?>{_STAR}?{part})" if "/" not in part.replace("[^/]", "") else _STAR + part for part in parts]
    return "".join([before, *inner[:-1], *(_STAR + part for part in parts[-1:])])


def _lines(path: Path, *, source: str) -> list[str]:
    """The lines of an ignore file; raises `ReaderError`."""
    if path.is_symlink() or not path.is_file():  # git follows no link either: the target may be private
        raise ReaderError(source, reason="it is a link, or no plain file", fix="Put a file there.")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ReaderError(source, reason=reason, fix="Make it readable, or remove it.") from error
    # File names come with surrogates for bytes that are not UTF-8: read patterns likewise.
    lines = data.decode("utf-8-sig", "surrogateescape").splitlines()
    if len(data) > MAX_BYTES or len(lines) > MAX_LINES:
        reason = f"it has more than {MAX_BYTES:,} bytes or {MAX_LINES:,} lines, so none of it is used"
        raise ReaderError(source, reason=reason, fix="Name folders instead of files.")
    return lines
