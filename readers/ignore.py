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
MAX_BYTES = 100_000
"""Of one ignore file."""
MAX_PATTERNS, MAX_PATTERN, MAX_DOUBLE_STARS = 1_000, 1_000, 2
"""Lines of a file, characters of a pattern, `**` in it: matching takes the path's depth to this power."""

_STAR = "[^/]*"


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The patterns of one folder, and those of the folders above it."""

    folder: str
    """Relative to the root, with a trailing slash; empty for the root."""
    spec: GitIgnoreSpec
    files: tuple[str, ...]
    """The name of the ignore file of each pattern."""
    above: IgnoreRules | None

    def ignored_by(self, path: str) -> str:
        """The name of the ignore file that leaves `path` out; "" where none does.

        `path` is relative to the root; folders end in a slash. The deepest folder with a match decides.
        """
        rules: IgnoreRules | None = self
        while rules is not None:
            found = rules.spec.check_file(path[len(rules.folder) :])
            if found.include is not None and found.index is not None:
                return rules.files[found.index] if found.include else ""
            rules = rules.above
        return ""


def load_rules(
    folder: Path, *, prefix: str, above: IgnoreRules | None
) -> tuple[IgnoreRules, list[ReaderError]]:
    """The rules in `folder` (`prefix` relative to the root), and the errors in its ignore files."""
    patterns: list[GitIgnoreSpecPattern] = []
    files: list[str] = []
    problems: list[ReaderError] = []
    for name in IGNORE_FILES:
        bad: list[str] = []
        try:
            for number, line in enumerate(_read_lines(folder / name, source=prefix + name), start=1):
                try:
                    patterns.append(_pattern(line))
                    files.append(name)
                except ValueError as error:
                    bad.append(f"line {number} is not a pattern: {error}")
        except ReaderError as error:
            problems.append(error)
        if bad:
            reason = bad[0] + (f" (and {len(bad) - 1:,} others)" if len(bad) > 1 else "")
            problems.append(ReaderError(prefix + name, reason=reason, fix="Correct or remove it."))
    if not patterns and above is not None:
        return above, problems
    return IgnoreRules(prefix, GitIgnoreSpec(patterns, backend="simple"), tuple(files), above), problems


def _pattern(line: str) -> GitIgnoreSpecPattern:
    """One compiled pattern; raises `ValueError` for a line that is none, or takes too long to match."""
    if len(line) > MAX_PATTERN or line.rstrip("/*").count("**") > MAX_DOUBLE_STARS:
        raise ValueError(f"{line[:40]!r}… is too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about `[[` in a class
            pattern = GitIgnoreSpecPattern(line)
            if pattern.regex is not None:
                pattern = GitIgnoreSpecPattern(re.compile(_linear(pattern.regex.pattern)), pattern.include)
    except (re.error, GitIgnorePatternError) as error:
        raise ValueError(f"{line!r} matches nothing") from error
    if pattern.include is None and line.strip() not in ("", "/") and not line.startswith("#"):
        raise ValueError(f"{line!r} has an open bracket")
    return pattern


def _linear(regex: str) -> str:
    """`regex` with stars that do not backtrack: of two in a name, the first takes as little as it can."""
    before, *parts = regex.split(_STAR)
    inner = [f"(?>{_STAR}?{part})" if "/" not in part.replace("[^/]", "") else _STAR + part for part in parts]
    return "".join([before, *inner[:-1], *(_STAR + part for part in parts[-1:])])


def _read_lines(path: Path, *, source: str) -> list[str]:
    """The lines of an ignore file, none where there is no such file; raises `ReaderError`."""
    if path.is_symlink():  # git does not follow it either: the target may be private
        raise ReaderError(source, reason="it is a link", fix="Put the file itself there.")
    if not path.is_file():
        return []
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ReaderError(source, reason=reason, fix="Make it readable, or remove it.") from error
    if len(data) > MAX_BYTES:
        reason = f"it has more than {MAX_BYTES:,} bytes, so none of it is used"
        raise ReaderError(source, reason=reason, fix="Name folders instead of files.")
    # File names come with surrogates for bytes that are not UTF-8: read patterns likewise.
    lines = data.decode("utf-8-sig", "surrogateescape").splitlines()
    if len(lines) > MAX_PATTERNS:
        reason = f"it has more than {MAX_PATTERNS:,} lines, so none of it is used"
        raise ReaderError(source, reason=reason, fix="Name folders instead of files.")
    return lines
