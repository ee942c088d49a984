"""The formats of documents: how a file's name tells them, and what it takes to read them.

Markdown is read as it is. Everything else is converted to Markdown first (`readers/converting/`), by what the
extra `[files]` installs where the standard library does not do.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

INSTALL = "pip install 'athena-docs[files]'"
ALL = "all"
"""The setting that names every format."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format; `name` is how the setting has it, `title` how people read it."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    recipe: int = 1
    """Rises when the same file would become another text: files of this format are then converted again."""
    needs: tuple[str, ...] = ()
    """Modules of the extra `[files]`."""
    mentioned: bool = True
    """Whether a folder's files of this format are worth a word where they are left out."""

    @property
    def installed(self) -> bool:
        """Whether what it needs is there."""
        return all(importlib.util.find_spec(module) for module in self.needs)


MARKDOWN = Format("md", "Markdown", (".md", ".markdown"))
FORMATS = (
    MARKDOWN,
    Format("txt", "plain text", (".txt",), mentioned=False),  # robots.txt, requirements.txt …
    Format("ipynb", "Jupyter", (".ipynb",)),
    Format("html", "HTML", (".html", ".htm", ".xhtml"), needs=("bs4", "markdownify")),
    Format("rst", "reStructuredText", (".rst",), needs=("docutils", "bs4", "markdownify")),
    Format("pdf", "PDF", (".pdf",), recipe=2, needs=("pypdfium2",)),
    Format("docx", "DOCX", (".docx",), needs=("mammoth", "bs4", "markdownify")),
)
MARKDOWN_ONLY = frozenset({MARKDOWN.name})
EVERY = frozenset(known.name for known in FORMATS)

_BY_SUFFIX = {suffix: known for known in FORMATS for suffix in known.suffixes}


def format_of(name: str) -> Format | None:
    """The format of a file of that name; None for any other."""
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())


def is_text(name: str) -> bool:
    """Whether the size of a file of that name is that of its text, so that Markdown's limit holds for it."""
    known = format_of(name)
    return known is None or known.name in ("md", "txt")


def formats_named(setting: str) -> frozenset[str]:
    """The names in a list with commas; raises `ValueError` for one that is not a format."""
    names = frozenset(filter(None, (name.strip().lower() for name in setting.split(","))))
    if ALL in names:
        return EVERY
    if unknown := sorted(names - EVERY):
        known = ", ".join(known.name for known in FORMATS)
        raise ValueError(f"'{unknown[0]}' is not one of {known} and {ALL}")
    return names or MARKDOWN_ONLY


def how_to_read(wanted: Format, *, chosen: Iterable[str]) -> str:
    """What to do so that files of a format, which a folder has, are read."""
    chosen = set(chosen)
    install = "" if wanted.installed else INSTALL
    if wanted.name in chosen:
        return f"Install what reads them: {install}"
    names = ",".join(known.name for known in FORMATS if known.name in chosen or known is wanted)
    name_it = f"Name the files, or add --formats {names} (ATHENA_FORMATS)"
    return f"{name_it}, after {install}" if install else f"{name_it}."
