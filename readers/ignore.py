"""What a folder's `.gitignore` and `.athenaignore` leave out, in git's semantics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.base import GitIgnorePatternError

from readers.errors import ReaderError, UnreadableFile

IGNORE_FILES = (".gitignore", ".athenaignore")
"""In rising precedence: where both speak of a file in the same folder, the last one decides."""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The patterns of one folder, and those of the folders above it."""

    folder: str
    """The folder relative to the root, with a trailing slash; empty for the root."""
    spec: GitIgnoreSpec
    above: IgnoreRules | None

    def ignore(self, path: str) -> bool:
        """Whether `path` (relative to the root; folders end in a slash) is left out.

        The deepest folder that has an opinion decides.
        """
        rules: IgnoreRules | None = self
        while rules is not None:
            verdict = rules.spec.check_file(path[len(rules.folder) :]).include
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
        return above or IgnoreRules("", GitIgnoreSpec.from_lines([]), None), problems
    return IgnoreRules(prefix, GitIgnoreSpec.from_lines(lines), above), problems


def _read_patterns(path: Path, *, source: str) -> tuple[list[str], list[ReaderError]]:
    if not path.is_file():
        return [], []
    try:
        # File names come with surrogates for bytes that are not UTF-8: read patterns likewise.
        text = path.read_bytes().decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return [], [UnreadableFile(source, reason=reason, fix="Make it readable, or remove it.")]
    lines: list[str] = []
    problems: list[ReaderError] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            GitIgnoreSpec.from_lines([line])
        except GitIgnorePatternError:
            reason = f"line {number} is not a pattern ({line!r})"
            problems.append(ReaderError(source, reason=reason, fix="Correct or remove it."))
        else:
            lines.append(line)
    return lines, problems
