"""What a folder's `.gitignore` and `.athenaignore` leave out, in git's semantics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.patterns import Patterns, compile_patterns
from readers.errors import ReaderError

IGNORE_FILES = (".gitignore", ".athenaignore")
"""In rising precedence: where both speak of a file in the same folder, the last one decides."""

MAX_BYTES = 100_000
"""Of one of them: a file for each folder may come with documents, and each pattern is compiled."""

SHOWN = 20
"""Lines that are no patterns, and are named one by one."""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The patterns of one folder, and those of the folders above it."""

    folder: str
    """The folder relative to the root, with a trailing slash; empty for the root."""
    patterns: Patterns
    above: IgnoreRules | None

    def ignore(self, path: str) -> bool:
        """Whether `path` (relative to the root; folders end in a slash) is left out.

        The deepest folder that has an opinion decides.
        """
        rules: IgnoreRules | None = self
        while rules is not None:
            verdict = rules.patterns.verdict(path[len(rules.folder) :])
            if verdict is not None:
                return verdict
            rules = rules.above
        return False


def load_rules(
    folder: Path, *, prefix: str, above: IgnoreRules | None
) -> tuple[IgnoreRules, list[ReaderError]]:
    """The rules in `folder`, whose path relative to the root is `prefix`, and what is wrong with them."""
    lines: list[str] = []
    origins: list[tuple[str, int]] = []  # the file and the number of each line
    problems: list[ReaderError] = []
    for name in IGNORE_FILES:
        more, wrong = _read_lines(folder / name, source=prefix + name)
        lines += more
        origins += [(prefix + name, number) for number, _ in enumerate(more, start=1)]
        problems += wrong
    if not lines:
        return above or IgnoreRules("", Patterns(()), None), problems
    patterns, none = compile_patterns(lines)
    for at in none[:SHOWN]:
        source, number = origins[at]
        reason = f"line {number} is not a pattern ({lines[at]!r})"
        problems.append(ReaderError(source, reason=reason, fix="Correct or remove it."))
    if len(none) > SHOWN:
        reason = f"{len(none) - SHOWN:,} more lines are not patterns either"
        problems.append(ReaderError(origins[none[SHOWN]][0], reason=reason, fix="Correct or remove them."))
    return IgnoreRules(prefix, patterns, above), problems


def _read_lines(path: Path, *, source: str) -> tuple[list[str], list[ReaderError]]:
    if path.is_symlink():  # git does not follow it either: what it leads to may be nobody's business
        return [], [ReaderError(source, reason="it is a link", fix="Put the file itself there.")]
    if not path.is_file():
        return [], []
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return [], [ReaderError(source, reason=reason, fix="Make it readable, or remove it.")]
    if len(data) > MAX_BYTES:
        reason = f"it has more than {MAX_BYTES:,} bytes, so none of it is used"
        return [], [ReaderError(source, reason=reason, fix="Name folders instead of files.")]
    # File names come with surrogates for bytes that are not UTF-8: read patterns likewise.
    text = data.decode("utf-8-sig", "surrogateescape")
    return text.splitlines(), []
