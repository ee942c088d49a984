"""The names of a page: its title and aliases, and keywords from its front matter and its path."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from readers.commonmark import MAX_TITLE, plain_text
from readers.dialects import mask, shortened, title_key
from readers.front_matter import FrontMatter

MOST_ALIASES, MOST_KEYWORDS = 20, 1_000
"""Limits of a page: the number of its aliases, and the characters of all its keywords together."""

_ALIASES = ("aliases", "alias", "sidebar_label", "sidebarTitle", "linkTitle", "short_title", "nav_title")
_KEYWORDS = ("tags", "keywords", "categories", "description", "summary")
_LANGUAGE = re.compile(r"(?!go|js|kt|py|rb|rs|sh|ts|vb)([a-z]{2})(?:[-_]\w+)*")  # no code language
_FOLDER_PAGES = frozenset({"index", "_index", "readme"})
_DATED = re.compile(r"^(\d{4}-\d{2}-\d{2})[-_ ]+(?=\S)")
_NUMBERED = re.compile(r"^\d{1,3}[-_.]\s*(?!x\Z)(?=[^\W\d])")
_VERSION = re.compile(r"(?:v(?:ersion)?|release)?[-_ ]?\d+(?:\.(?:\d+|x))+|v\d+", re.IGNORECASE)


def page_names(source: str, matter: FrontMatter, heading: str) -> dict[str, Any]:
    """Return a page's `title`, and any `aliases` (a list), `keywords` (lines), `language` and `version`.

    The title is the front matter's, else `heading` (the first heading of level 1, or ""), else the file's
    name made readable. The version is the name of the innermost folder that looks like one, such as `v2`.
    """

    def texts(*keys: str) -> list[str]:
        return [plain_text(mask(text)) for key in keys for text in matter.get(key, ())]

    path = PurePosixPath(source)
    folders = [part for part in path.parts[:-1] if part.strip("/.")]
    file = folders[-1] if path.stem.lower().split(".")[0] in _FOLDER_PAGES and folders else path.stem
    name, dated = readable_name(file), _DATED.sub(r"\1 ", file) if _DATED.match(file) else ""
    title = ", ".join(filter(None, texts("title"))) or heading or name or path.stem
    aliases = {title_key(title): "", "": ""}
    for text in [*texts(*_ALIASES), heading, name, dated]:
        if not (text.startswith("/") or "://" in text):  # some generators call addresses aliases
            aliases.setdefault(title_key(text), shortened(text, MAX_TITLE))
    keywords = [*texts(*_KEYWORDS), *map(readable_name, folders)]
    languages = filter(None, map(_LANGUAGE.fullmatch, texts("lang", "language")))
    found = {
        "title": shortened(title, MAX_TITLE),
        "aliases": [alias for alias in aliases.values() if alias][:MOST_ALIASES],
        "keywords": shortened("\n".join(filter(None, keywords)), MOST_KEYWORDS),
        "language": next((stated[1] for stated in languages), ""),
        "version": next(filter(_VERSION.fullmatch, reversed(folders)), ""),
    }
    return {key: value for key, value in found.items() if value}


def readable_name(name: str) -> str:
    """Return a file or folder name as words: `02-install_guide` becomes "install guide", `P-310` stays."""
    name = _NUMBERED.sub("", _DATED.sub("", name))
    if " " not in name:
        name = re.sub(r"_+|(?<![A-Z\d])-+|-+(?!\d)", " ", name)
    return " ".join(name.split())
