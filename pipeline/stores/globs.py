"""Which sources a glob matches: `systems/*.md`, `**/alarms.md`, or just the name of a folder.

A *scope* is several globs: those of a conversation that asks only some folders and files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from wcmatch import glob as wildcards

from pipeline.errors import ConfigurationError

Globs = str | tuple[str, ...]
"""One glob or several, of which any may match; as options and stored answers have them."""

MOST_CHARACTERS = 4096  # no path is longer
MOST_FOLDERS = 3  # `**` in a glob: each more takes `wcmatch` another look at every folder of a path

_FLAGS = wildcards.GLOBSTAR | wildcards.DOTGLOB | wildcards.FORCEUNIX
_SPECIAL = re.compile(r"[\[*?\\]")
_LITERAL = re.compile(r"\[([\[*?])\]|\\(\\)")


def as_globs(given: str | Iterable[str] | None) -> Globs | None:
    """Globs as options have them: None for none, one as itself, several as a tuple."""
    several = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given or ()))
    found = tuple(glob for glob in several if glob)
    return (found if len(found) > 1 else found[0]) if found else None


def as_scope(globs: Globs | Sequence[str] | None) -> tuple[str, ...]:
    """Globs one by one."""
    return (globs,) if isinstance(globs, str) else tuple(globs or ())


def literal(path: str) -> str:
    """The glob that matches one folder or file, whatever characters its name has."""
    return _SPECIAL.sub(lambda found: r"\\" if found[0] == "\\" else f"[{found[0]}]", path)


def written(glob: str) -> str:
    """A glob as people read it: the name again, where `literal` made it of a name."""
    return _LITERAL.sub(lambda found: found[1] or found[2], glob)


def only_in(globs: Globs | Sequence[str] | None, *, most: int = 2) -> str:
    """A scope in words, "only in engines/ and 3 more"; "" for none. It names `most` of its globs."""
    names = [written(glob) for glob in as_scope(globs)]
    if not names:
        return ""
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"only in {', '.join(names[:most])}{rest}"


def matches(source: str, globs: Globs) -> bool:
    """Whether one of the globs matches `source`, or a folder above it.

    `*` and `?` stay within a name, `**` in front of a name or for it crosses folders, `[ab]` and `[!ab]` are
    classes. Raises `ConfigurationError` for a glob that is too long or has too many `**`.
    """
    return any(_matches(source, glob) for glob in as_scope(globs))


def _matches(source: str, glob: str) -> bool:
    pattern = re.sub(r"(^|/)\*\*+(?=[^/*])", r"\1**/*", glob.removeprefix("./").rstrip("/"))
    if len(pattern) > MOST_CHARACTERS or pattern.count("**") > MOST_FOLDERS:
        raise ConfigurationError(
            f"The path pattern '{glob[:40]}' is too long, or has ** too often.",
            f"Use {MOST_CHARACTERS:,} characters and {MOST_FOLDERS} times ** at most.",
        )
    return bool(pattern) and wildcards.globmatch(source, [pattern, f"{pattern}/**"], flags=_FLAGS)
