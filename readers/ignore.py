"""What a folder's `.gitignore` and `.athenaignore` leave out, in git's semantics.

Patterns come with the documents, from anybody: they are matched by RE2, which never backtracks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import re2  # type: ignore[import-untyped]
from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.base import GitIgnorePatternError

from readers.errors import FileTooLarge, ReaderError, UnreadableFile

IGNORE_FILES = (".gitignore", ".athenaignore")
"""In rising precedence: where both speak of a file in the same folder, the last one decides."""

MAX_BYTES = 100_000
"""Of one of them: a file for each folder may come with documents, and each pattern is compiled."""

_NOT_A_PATTERN = (GitIgnorePatternError, re.error, re2.error)

_TEXT = {0xDC00 + byte: 0xF0000 + byte for byte in range(0x80, 0x100)}
"""RE2 reads UTF-8: bytes of names that are none, which Python has as surrogates, get private characters."""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The patterns of one folder, and those of the folders above it."""

    folder: str
    """The folder relative to the root, with a trailing slash; empty for the root."""
    specs: tuple[GitIgnoreSpec, ...]
    """In order: the last that has an opinion decides."""
    above: IgnoreRules | None

    def ignore(self, path: str) -> bool:
        """Whether `path` (relative to the root; folders end in a slash) is left out.

        The deepest folder that has an opinion decides.
        """
        rules: IgnoreRules | None = self
        while rules is not None:
            own = path[len(rules.folder) :].translate(_TEXT)
            verdicts = (spec.check_file(own).include for spec in reversed(rules.specs))
            verdict = next((verdict for verdict in verdicts if verdict is not None), None)
            if verdict is not None:
                return verdict
            rules = rules.above
        return False


def load_rules(
    folder: Path, *, prefix: str, above: IgnoreRules | None
) -> tuple[IgnoreRules, list[ReaderError]]:
    """The rules in `folder`, whose path relative to the root is `prefix`, and what is wrong with them."""
    lines: list[str] = []
    problems: list[ReaderError] = []
    for name in IGNORE_FILES:
        more, wrong = _read_patterns(folder / name, source=prefix + name)
        lines += more
        problems += wrong
    if not lines:
        return above or IgnoreRules("", _compiled([]), None), problems
    return IgnoreRules(prefix, _compiled(lines), above), problems


def _compiled(lines: Sequence[str]) -> tuple[GitIgnoreSpec, ...]:
    """The patterns of some lines, in several sets where they are too many for RE2's memory."""
    try:
        return (GitIgnoreSpec.from_lines([line.translate(_TEXT) for line in lines], backend="re2"),)
    except re2.error:
        if len(lines) == 1:
            raise
        half = len(lines) // 2
        return _compiled(lines[:half]) + _compiled(lines[half:])


def _read_patterns(path: Path, *, source: str) -> tuple[list[str], list[ReaderError]]:
    if not path.is_file():
        return [], []
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return [], [UnreadableFile(source, reason=reason, fix="Make it readable, or remove it.")]
    if len(data) > MAX_BYTES:
        reason = f"it has more than {MAX_BYTES:,} bytes, so none of it is used"
        return [], [FileTooLarge(source, reason=reason, fix="Name folders instead of files.")]
    # File names come with surrogates for bytes that are not UTF-8: read patterns likewise.
    text = data.decode("utf-8-sig", "surrogateescape")
    lines: list[str] = []
    problems: list[ReaderError] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            _compiled([line])
        except _NOT_A_PATTERN:
            reason = f"line {number} is not a pattern ({line!r})"
            problems.append(ReaderError(source, reason=reason, fix="Correct or remove it."))
        else:
            lines.append(line)
    return lines, problems
