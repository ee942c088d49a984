"""Which sources a glob means: `systems/*.md`, `**/alarms.md`, or just the name of a folder.

A *scope* is several of them: those of a conversation that asks only some folders and files. Names are matched
one by one, by the standard library's `fnmatch`, whose patterns do not backtrack: no glob makes a search hang.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from pipeline.errors import ConfigurationError

Globs = str | tuple[str, ...]
"""One glob or several, of which any may match; as options and stored answers have them."""

_SPECIAL = re.compile(r"[\[*?]")
_LITERAL = re.compile(r"\[([\[*?])\]")
_PIECE = re.compile(r"\[(?:!.|[^!])[^\]]*\]|.", re.DOTALL)
"""Of a name's pattern: a class, or one character."""
_RANGE = re.compile(r"(?=(.-.))", re.DOTALL)
_FOLDERS = "**"
MOST_CHARACTERS = 10_000
"""Of a glob: no path has more than 4,096."""

_Name = Callable[[str], object]
"""Whether a name is meant."""


def as_globs(given: str | Iterable[str] | None) -> Globs | None:
    """Globs as options have them: None for none, one as itself, several as a tuple."""
    several = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given or ()))
    found = tuple(glob for glob in several if glob)
    return (found if len(found) > 1 else found[0]) if found else None


def as_scope(globs: Globs | Sequence[str] | None) -> tuple[str, ...]:
    """The same, one by one."""
    return (globs,) if isinstance(globs, str) else tuple(globs or ())


def literal(path: str) -> str:
    """The glob that means one folder or file, whatever characters its name has."""
    return _SPECIAL.sub(r"[\g<0>]", path)


def written(glob: str) -> str:
    """A glob as people read it: what `literal` made of a name is the name again."""
    return _LITERAL.sub(r"\1", glob)


def only_in(globs: Globs | Sequence[str] | None, *, most: int = 2) -> str:
    """A scope in words, "only in engines/ and 3 more"; "" for none. It names `most` of its globs."""
    names = [written(glob) for glob in as_scope(globs)]
    if not names:
        return ""
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"only in {', '.join(names[:most])}{rest}"


def matches(source: str, globs: Globs) -> bool:
    """True where `source` is what one of the globs means, or lies in a folder that it means.

    `*` and `?` stay within a name, `**` in front of a name or for it crosses folders, `[ab]` and `[!ab]` are
    classes. Raises `ConfigurationError` for a glob that cannot mean anything.
    """
    return any(_matches(source, glob) for glob in as_scope(globs))


def _matches(source: str, glob: str) -> bool:
    names = source.split("/")
    reached = {0}  # the numbers of names that the patterns so far may stand for
    for meant in _patterns(glob):
        if meant is None:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and meant(names[at])}
        if not reached:
            return False
    return True


@lru_cache(maxsize=256)
def _patterns(glob: str) -> tuple[_Name | None, ...]:
    """What each name must be, None for any folders; `**.md` is `**` and `*.md`."""
    if len(glob) > MOST_CHARACTERS:
        raise ConfigurationError(
            f"The path pattern '{glob[:40]}…' has {len(glob):,} characters.",
            f"No path is that long: use {MOST_CHARACTERS:,} at most.",
        )
    names = re.sub(r"(^|/)\*\*+(?=[^/*])", r"\1**/*", glob.removeprefix("./").rstrip("/"))
    return tuple(None if name == _FOLDERS else _name(name, glob) for name in names.split("/"))


def _name(pattern: str, glob: str) -> _Name:
    if not _SPECIAL.search(pattern):
        return pattern.__eq__
    for piece in _PIECE.findall(pattern):
        backwards = next((pair for pair in _RANGE.findall(piece[1:-1]) if pair[0] > pair[2]), "")
        if backwards or ":]" in piece.partition("[:")[2] + "]" * ("[:" in piece):
            why = (
                f"bad character range {backwards}"
                if backwards
                else "classes by name, [:alpha:], are not known"
            )
            raise ConfigurationError(
                f"The path pattern '{glob}' cannot be used: {why}.",
                "Correct it; in brackets, a character stands for itself: [[], [*], [?].",
            )
    return re.compile(fnmatch.translate(pattern)).match  # its stars do not backtrack
