"""Which sources a glob means: `systems/*.md`, `**/alarms.md`, or just the name of a folder.

Names are matched one by one with `fnmatch`, whose patterns never backtrack: no glob makes a search hang.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache

from pipeline.errors import ConfigurationError

_CLASS = re.compile(r"\[!?(\]?[^\]]*)\]")
_RANGE = re.compile(r"(.)-(.)", re.DOTALL)
_FOLDERS = "**"


def matches(source: str, glob: str) -> bool:
    """True where `source` is what the glob means, or lies in a folder that it means.

    `*` and `?` stay within a name, `**` in front of a name or for it crosses folders, `[ab]` and `[!ab]` are
    classes. Raises `ConfigurationError` for a glob that cannot mean anything.
    """
    names = source.split("/")
    reached = {0}  # the numbers of names that the patterns so far may stand for
    for pattern in _patterns(glob):
        if pattern == _FOLDERS:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and fnmatchcase(names[at], pattern)}
        if not reached:
            return False
    return True


@lru_cache(maxsize=256)
def _patterns(glob: str) -> tuple[str, ...]:
    """The pattern of each name; `**.md` is `**` and `*.md`."""
    for members in _CLASS.findall(glob):
        for low, high in _RANGE.findall(members):
            if low > high:
                raise ConfigurationError(
                    f"The path pattern '{glob}' has the range '{low}-{high}', in which nothing lies.",
                    f"Write it as '{high}-{low}'.",
                )
    names = re.sub(r"(^|/)\*\*+(?=[^/*])", r"\1**/*", glob.removeprefix("./").rstrip("/"))
    return tuple(names.split("/"))
