"""Quotes as self-contained Markdown: rows under their header, code in a fence, items without indent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from readers.dialects import END, ROW, TABLE, display, display_titled, mask

if TYPE_CHECKING:
    from pipeline.answer import Citation, Unit

FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
TABLE_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
CUT_ROW = re.compile(r"(\n[ \t|]*)+\Z")  # a row that ends before its first word
MARK, DROPPED = "\ue001", "\ue002"
"""Placeholders in a mask: for an offset to find, and for each character of indent to drop."""

_mask = lru_cache(maxsize=64)(mask)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Part of a file as readers see it; the character at `i` in `masked` is at `start + i` in the file."""

    masked: str
    start: int
    lead: str = ""  # Markdown that introduces the quote
    opening: str = ""  # masked table header or fence, if the quote lacks it

    @property
    def text(self) -> str:
        """The quote as Markdown, after the table header or fence that it lacks; without the `lead`."""
        return display_titled((self.opening + self.masked).replace(DROPPED, ""))

    def place(self, offset: int) -> int:
        """Return the offset in `text` of the character at `offset` in the file; limited to the excerpt."""
        at = min(max(0, offset - self.start), len(self.masked))
        marked = f"{self.masked[:at]}{MARK}{self.masked[at:]}"
        return display_titled((self.opening + marked).replace(DROPPED, "")).index(MARK)


def shown(unit: Unit, citation: Citation) -> Excerpt:
    """Return a citation's quote as an excerpt, with the lead of its unit."""
    before = citation.section_text[: max(0, citation.start - citation.section_start)]
    above, masked = _masked(citation)
    masked = _outdented(CUT_ROW.sub("", masked), before)
    return Excerpt(masked, citation.start, display(mask(unit.lead.strip())), _opening(masked, before, above))


def in_code(before: str) -> bool:
    """Return whether a text ends inside a fenced code block."""
    return len(FENCE.findall(before)) % 2 == 1


def table_header(before: str) -> str:
    """Return the header and delimiter lines of the table that a text ends in; "" if it ends in none."""
    lines = before.splitlines()
    for number in range(len(lines) - 1, 0, -1):
        if TABLE_DELIMITER.match(lines[number]) and "|" in lines[number - 1]:
            return f"{lines[number - 1]}\n{lines[number]}"
        if "|" not in lines[number]:
            break
    return ""


def _masked(citation: Citation) -> tuple[str, str]:
    """Return the masks of the section's text above the quote ("" if unknown), and of the quote."""
    start, text = citation.start - citation.section_start, citation.section_text
    if not text.startswith(citation.quote, max(0, start)):
        start, text = 0, citation.quote
    masked = _mask(text, suffix=PurePosixPath(citation.source).suffix)
    return masked[:start], masked[start : start + len(citation.quote)]


def _opening(quote: str, before: str, above: str) -> str:
    """Return the fence or table header that a quote lacks, or ""; `above` is the mask of `before`."""
    if in_code(before):
        return "```\n"
    if ROW in quote and (rows := above[above.rfind(TABLE) :].split(ROW, 2)[:2])[1:] and END not in rows[0]:
        return ROW.join(rows)
    first, _, rest = quote.partition("\n")
    has_header = TABLE_DELIMITER.match(rest.split("\n", 1)[0]) is not None
    header = table_header(before) if "|" in first and not has_header else ""
    return f"{header}\n" if header else ""


def _outdented(text: str, before: str) -> str:
    """Replace the indent that later lines share with the first by `DROPPED`, keeping the text's length.

    `before` is the text before the quote. In a block quotation, its `>` is part of the indent.
    """
    line = before.rpartition("\n")[2]
    indent = line[: len(line) - len(line.lstrip(" \t>"))]
    if in_code(before) or (indent != line and ">" not in indent):
        return text
    first, *others = text.splitlines(keepends=True) or [""]
    for line in others:
        is_indented = line.startswith(indent) or line.strip() == indent.strip()
        length = min(len(indent), len(line.rstrip("\r\n"))) if is_indented else 0
        first += DROPPED * length + line[length:]
    return first
