"""Which sources a glob means: `systems/*.md`, `**/alarms.md`, or just the name of a folder."""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


def matches(source: str, glob: str) -> bool:
    """True where `source` is what the glob means, or lies in a folder that it means.

    `*` and `?` stay within a name, `**` crosses folders, `[ab]` and `[!ab]` are classes.
    """
    return _pattern(glob).fullmatch(source) is not None


@lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str]:
    body = "".join(map(_translate, _TOKEN.findall(glob.removeprefix("./").rstrip("/"))))
    return re.compile(f"(?s:{body})(?:/.*)?", re.DOTALL)


def _translate(token: str) -> str:
    match token:
        case "**/":
            return "(?:.*/)?"
        case "**":
            return ".*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
    if len(token) > 2 and token[0] == "[":
        negated, members = token[1] == "!", token[1:-1].removeprefix("!")
        escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", members)
        return f"[{'^/' if negated else ''}{escaped}]"
    return re.escape(token)
