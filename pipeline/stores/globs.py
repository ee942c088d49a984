"""Globs that match sources: `systems/*.md`, `**/alarms.md`, or just the name of a folder.

A *scope* is a tuple of globs: the folders and files that a conversation searches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wcmatch import glob as wildcards

from pipeline.errors import ConfigurationError

Globs = str | tuple[str, ...]
"""One glob, or several of which any may match, as in options and stored answers."""

MOST_CHARACTERS = 4096  # no path is longer
MOST_FOLDERS = 3  # `**` in a glob: for each more, `wcmatch` tries every folder of a path again

_FLAGS = wildcards.GLOBSTAR | wildcards.DOTGLOB | wildcards.FORCEUNIX


def as_scope(globs: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the distinct globs, in order and without empty ones; () for None."""
    several = (globs,) if isinstance(globs, str) else globs or ()
    return tuple(dict.fromkeys(filter(None, several)))


def literal(path: str) -> str:
    """Return the glob that matches one folder or file, whatever characters its name has."""
    return re.sub(r"[\[*?\\]", r"[\g<0>]", path).replace("[\\]", r"\\")


def written(glob: str) -> str:
    """Return a glob as people read it: without the escaping that `literal` added."""
    return re.sub(r"\[([\[*?])\]|\\(\\)", lambda found: found[1] or found[2], glob)


def only_in(globs: str | Iterable[str] | None) -> str:
    """Return a scope in words, "only in engines/, docs/ and 3 more"; "" if it has no globs."""
    names = [written(glob) for glob in as_scope(globs)]
    rest = f" and {len(names) - 2:,} more" if len(names) > 2 else ""
    return f"only in {', '.join(names[:2])}{rest}" if names else ""


def matches(source: str, globs: Globs) -> bool:
    """Return whether one of the globs matches `source`, or a folder above it.

    `*` and `?` stay within a name, `**` crosses folders, `[ab]` and `[!ab]` are classes of characters.
    Raises `ConfigurationError` for a glob that is too long or has too many `**`.
    """
    return any(_matches(source, glob) for glob in as_scope(globs))


def _matches(source: str, glob: str) -> bool:
    pattern = re.sub(r"(^|/)\*\*+(?=[^/*])", r"\1**/*", glob.removeprefix("./").rstrip("/"))
    if len(pattern) > MOST_CHARACTERS or pattern.count("**") > MOST_FOLDERS:
        raise ConfigurationError(
            f"The path pattern '{glob[:40]}' is too long, or has ** too often.",
            f"Use at most {MOST_CHARACTERS:,} characters, and ** at most {MOST_FOLDERS} times.",
        )
    return bool(pattern) and wildcards.globmatch(source, [pattern, f"{pattern}/**"], flags=_FLAGS)
