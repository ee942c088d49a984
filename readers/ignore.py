"""Which files `.gitignore` and `.athenaignore` leave out, by git's rules (`pathspec`)."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from readers.source import ReaderError, read_bytes

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
    """Return the patterns of the ignore file at `path` in `folder`, and the first error in it, if any.

    A file that is too large, or that is a link, has no patterns: git follows no link either.
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
