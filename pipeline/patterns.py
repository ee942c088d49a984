"""Patterns of paths as `.gitignore` files have them: what a folder leaves out, and what `--path` means.

They come from anybody, with the documents or with a question. All are compiled here, by `pathspec`, and
matched by RE2, which never backtracks. Imports nothing of ours.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import re2  # type: ignore[import-untyped]
from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

SET_CHARACTERS = 20_000
"""Of patterns that are compiled together: many more have no room, and finding that out takes seconds."""

_TEXT = {0xD800 + number: 0xF0200 + number for number in range(0x800)}
"""RE2 reads UTF-8: halves of characters, which names that are no UTF-8 have, get private characters."""


class NotAPattern(ValueError):
    """A line that is none; the message says why."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """Several patterns, compiled."""

    specs: tuple[GitIgnoreSpec, ...]
    """In order: the last that has an opinion decides."""

    def verdict(self, path: str) -> bool | None:
        """True where `path` is meant, False where a `!` takes that back, None where no pattern is about it.

        Folders end in a slash.
        """
        text = path.translate(_TEXT)
        verdicts = (spec.check_file(text).include for spec in reversed(self.specs))
        return next((verdict for verdict in verdicts if verdict is not None), None)


def compile_pattern(line: str) -> Patterns:
    """One pattern; raises `NotAPattern`."""
    return Patterns((_compiled([line.translate(_TEXT)]),))


def compile_patterns(lines: Sequence[str]) -> tuple[Patterns, list[int]]:
    """The patterns of some lines, and the places of those lines that are none."""
    texts = [line.translate(_TEXT) for line in lines]
    specs, wrong = _in_sets(texts)
    if wrong:
        none = {*wrong}
        specs, _ = _in_sets([text for at, text in enumerate(texts) if at not in none])
    return Patterns(tuple(specs)), wrong


def _in_sets(lines: Sequence[str], first: int = 0) -> tuple[list[GitIgnoreSpec], list[int]]:
    """What lines compile to, in several sets where one has not room for all, and the places of bad ones."""
    is_one = len(lines) <= 1
    if is_one or sum(map(len, lines)) <= SET_CHARACTERS:
        try:
            return [_compiled(lines)], []
        except NotAPattern:
            if is_one:
                return [], [first]
    half = len(lines) // 2
    specs, wrong = _in_sets(lines[:half], first)
    more, others = _in_sets(lines[half:], first + half)
    return specs + more, wrong + others


def _compiled(lines: Sequence[str]) -> GitIgnoreSpec:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # `re` compiles them, too: what `[[` may mean
            return GitIgnoreSpec([_pattern(line) for line in lines], backend="re2")
    except re.error as error:
        raise NotAPattern(error.msg) from error
    except (GitIgnorePatternError, re2.error) as error:
        raise NotAPattern("it means nothing, or is too long") from error


def _pattern(line: str) -> GitIgnoreSpecPattern:
    if ":]" in line.partition("[:")[2]:  # to `pathspec` some characters, to RE2 a class
        raise NotAPattern("classes by name, such as [:alpha:], are not known")
    pattern = GitIgnoreSpecPattern(line)
    is_empty = line.strip() in ("", "/") or line.startswith("#")
    if pattern.include is None and not is_empty:
        raise NotAPattern("a bracket is not closed")
    return pattern
