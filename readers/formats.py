"""Document formats, recognised by the ending of the file name."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import PurePosixPath

INSTALL = "pip install 'athena-docs[files]'"


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its name, its title for users, and its file name endings (lower case, with the dot)."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    is_text: bool = False  # read as Markdown, without being converted

    @property
    def installed(self) -> bool:
        """True if the format can be read: it is text, or the extra `[files]` is installed."""
        return self.is_text or importlib.util.find_spec("markitdown") is not None


MARKDOWN = Format(
    "md", "Markdown", (".md", ".markdown", ".mkd", ".mkdn", ".mdown", ".mdx", ".qmd", ".rmd"), is_text=True
)
FORMATS = (
    MARKDOWN,
    Format("txt", "plain text", (".txt",), is_text=True),
    Format("ipynb", "Jupyter", (".ipynb",)),
    Format("html", "HTML", (".html", ".htm", ".xhtml")),
    Format("pdf", "PDF", (".pdf",)),
    Format("docx", "DOCX", (".docx",)),
    Format("pptx", "PPTX", (".pptx",)),
    Format("xlsx", "XLSX", (".xlsx",)),
    Format("epub", "EPUB", (".epub",)),
)
_BY_SUFFIX = {suffix: known for known in FORMATS for suffix in known.suffixes}


def format_of(name: str) -> Format | None:
    """Return the format of a file by its name; None if it is unknown."""
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower())
