"""The formats of documents, by the endings of their files' names."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

INSTALL = "pip install 'athena-docs[files]'"
ALL = "all"
"""The setting that names every format."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its name in the setting, its title as people read it, and the endings of its files."""

    name: str
    title: str
    suffixes: tuple[str, ...]

    @property
    def installed(self) -> bool:
        """Whether the extra `[files]` is installed, if the format needs it."""
        return self in (MARKDOWN, TEXT) or importlib.util.find_spec("markitdown") is not None


MARKDOWN = Format("md", "Markdown", (".md", ".markdown", ".mkd", ".mkdn", ".mdown", ".mdx", ".qmd", ".rmd"))
TEXT = Format("txt", "plain text", (".txt",))
FORMATS = (
    MARKDOWN,
    TEXT,
    Format("ipynb", "Jupyter", (".ipynb",)),
    Format("html", "HTML", (".html", ".htm", ".xhtml")),
    Format("rst", "reStructuredText", (".rst",)),
    Format("pdf", "PDF", (".pdf",)),
    Format("docx", "DOCX", (".docx",)),
    Format("pptx", "PPTX", (".pptx",)),
    Format("xlsx", "XLSX", (".xlsx",)),
    Format("epub", "EPUB", (".epub",)),
)
MARKDOWN_ONLY = frozenset({MARKDOWN.name})
EVERY = frozenset(known.name for known in FORMATS)

CONVERTED = 5
"""A file of a format that is converted may be so many times as large as one of text."""

_BY_SUFFIX = {suffix: known for known in FORMATS for suffix in known.suffixes}


def format_of(name: str) -> Format | None:
    """Return the format of a file by its name; None if it is unknown."""
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())


def limit_of(name: str, max_bytes: int) -> int:
    """Return the most bytes that a file of that name may have, given those of a file of text."""
    return max_bytes * (1 if format_of(name) in (None, MARKDOWN, TEXT) else CONVERTED)


def formats_named(setting: str) -> frozenset[str]:
    """Return the format names of a comma-separated list; raises `ValueError` for an unknown one."""
    names = frozenset(filter(None, (name.strip().lower() for name in setting.split(","))))
    if ALL in names:
        return EVERY
    if unknown := sorted(names - EVERY):
        known = ", ".join(known.name for known in FORMATS)
        raise ValueError(f"'{unknown[0]}' is not one of {known} and {ALL}")
    return names or MARKDOWN_ONLY


def not_chosen(kind: Format, chosen: Collection[str]) -> str:
    """Return why the files of a format are left out, and what to do to read them."""
    if not kind.installed:
        return f"{kind.title} (reading it needs {INSTALL})"
    names = ",".join(known.name for known in FORMATS if known.name in chosen or known is kind)
    return f"{kind.title} (read with --formats {names}, or by name)"
