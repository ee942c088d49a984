"""The names of a page: its title, its aliases, and words about it from its front matter and its path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from readers.blocks import shortened
from readers.commonmark import MAX_TITLE, plain_text
from readers.dialects import mask
from readers.front_matter import FrontMatter

MOST_ALIASES = 20
MOST_KEYWORDS = 1_000
"""Characters of all keywords of a page."""

_ALIASES = ("aliases", "alias", "sidebar_label", "sidebarTitle", "linkTitle", "short_title", "nav_title")
_KEYWORDS = ("tags", "keywords", "categories", "description", "summary")
_FOLDER_PAGES = frozenset({"index", "_index", "readme"})
_DATED = re.compile(r"(\d{4}-\d{2}-\d{2})[-_ ]+(?=\S)")
_NUMBERED = re.compile(r"\d{1,3}[-_.]\s*(?=[^\W\d])")
_VERSION = re.compile(r"v?\d+(?:\.(?:\d+|x))+|v\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageNames:
    """A page's title, its other names, words about it, and the version that a folder of its path names."""

    title: str
    aliases: tuple[str, ...] = ()
    keywords: str = ""
    version: str = ""


def page_names(source: str, matter: FrontMatter, heading: str) -> PageNames:
    """The names of the page at `source`; `heading` is its first of level 1, "" without one.

    The title is that of the front matter, else `heading`, else the file's name made readable.
    """
    path = PurePosixPath(source)
    folders = [part for part in path.parts[:-1] if part.strip("/.")]
    file = folders[-1] if path.stem.lower() in _FOLDER_PAGES and folders else path.stem
    stated = next((plain_text(mask(text)) for text in matter.texts("title")), "")
    title = shortened(stated or heading or readable_name(file) or path.stem, MAX_TITLE)
    others = [
        plain_text(mask(text)) for text in matter.texts(*_ALIASES) if not text.startswith(("/", "http"))
    ]
    dated = _DATED.sub(r"\1 ", file) if _DATED.match(file) else ""
    words = [plain_text(mask(text)) for text in matter.texts(*_KEYWORDS)]
    keywords = [
        *words,
        *(folder if _VERSION.fullmatch(folder) else readable_name(folder) for folder in folders),
    ]
    return PageNames(
        title=title,
        aliases=_distinct([*others, heading, readable_name(file), dated], unlike=title),
        keywords=shortened("\n".join(filter(None, keywords)), MOST_KEYWORDS),
        version=next((folder for folder in reversed(folders) if _VERSION.fullmatch(folder)), ""),
    )


def readable_name(name: str) -> str:
    """The name of a file or folder as words: `02-install_guide` is "install guide", `P-310` stays."""
    name = _NUMBERED.sub("", _DATED.sub("", name, count=1), count=1)
    if " " not in name:
        name = re.sub(r"_+|(?<![A-Z\d])-+|-+(?!\d)", " ", name)
    return " ".join(name.split())


def key_of(name: str) -> str:
    """Letters and digits alone, without case: equal for names that read the same."""
    return "".join(filter(str.isalnum, name.casefold()))


def _distinct(names: Iterable[str], *, unlike: str) -> tuple[str, ...]:
    found = {key_of(unlike): ""}
    for name in names:
        if key_of(name):
            found.setdefault(key_of(name), shortened(name, MAX_TITLE))
    return tuple(filter(None, found.values()))[:MOST_ALIASES]
