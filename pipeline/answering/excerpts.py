"""A quote as Markdown that can stand alone: rows under their header, code in a fence, items outdented."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from readers.dialects import display, mask

if TYPE_CHECKING:
    from pipeline.answer import Citation, Unit

FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
TABLE_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
REMNANT = re.compile(r"(\n[ \t|]*)+\Z")  # a row that was cut before its first word
BLANK_LINES = re.compile(r"\n[ \t]*\n")
MARK, DROPPED = "\ue001", "\ue002"
"""Stand in a mask for an offset that is looked for, and for the indent that a line loses."""

_mask = lru_cache(maxsize=64)(mask)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some of a file's text as readers see it; an offset in `masked` is one in the file from `start`."""

    masked: str
    start: int
    opening: str = ""
    """The table's header or the fence, which the quote does not have itself."""

    @property
    def quote(self) -> str:
        """The text without marks."""
        return display(self.masked.replace(DROPPED, ""))

    @property
    def text(self) -> str:
        """All of it as Markdown."""
        return f"{self.opening}{self.quote}"

    def place(self, offset: int) -> int:
        """The offset in `text` of the character that is at `offset` in the file."""
        at = min(max(0, offset - self.start), len(self.masked))
        marked = f"{self.masked[:at]}{MARK}{self.masked[at:]}"
        return len(self.opening) + display(marked.replace(DROPPED, "")).index(MARK)


@dataclass(frozen=True, slots=True)
class Led:
    """A quote and the Markdown that introduces it, to be shown one above the other."""

    lead: str
    excerpt: Excerpt


def shown(unit: Unit, citation: Citation) -> Led:
    """The quote of a unit after its lead."""
    return _led(unit.lead, citation.start, citation.start + len(citation.quote), citation)


def readers_quote(citation: Citation) -> str:
    """The quote as Markdown, without the marks that readers do not see."""
    return display(_masked(citation, citation.start, citation.start + len(citation.quote)))


def whole(unit: Unit, citation: Citation) -> Led | None:
    """All of a unit; None where nothing is left out, or where the citation does not have its text."""
    start, end = unit.start - citation.section_start, unit.end - citation.section_start
    if not unit.left_out or not 0 <= start < end <= len(citation.section_text):
        return None
    text = citation.section_text[start:end]
    lead = "\n\n".join(block for block in BLANK_LINES.split(unit.lead) if block.strip() not in text)
    return _led(lead, unit.start, unit.end, citation)


def text_before(citation: Citation, start: int) -> str:
    """The text of the citation's section before an offset of the file."""
    return citation.section_text[: max(0, start - citation.section_start)]


def in_code(before: str) -> bool:
    """True where the text leaves a fence open."""
    return len(FENCE.findall(before)) % 2 == 1


def ends_in_header(text: str) -> bool:
    """True where the next line would be the first row of a table."""
    lines = text.rstrip().splitlines()
    return len(lines) > 1 and "|" in lines[-2] and bool(TABLE_DELIMITER.match(lines[-1]))


def table_header(before: str) -> str:
    """Header and delimiter of the table that a quote stands in; "" where the text before it ends in none."""
    lines = before.splitlines()
    for number in range(len(lines) - 1, 0, -1):
        if TABLE_DELIMITER.match(lines[number]) and "|" in lines[number - 1]:
            return f"{lines[number - 1]}\n{lines[number]}"
        if "|" not in lines[number]:
            break
    return ""


def _led(lead: str, start: int, end: int, citation: Citation) -> Led:
    """A span of the file after a lead; a header or fence at the lead's end goes to the quote."""
    before, lines = text_before(citation, start), lead.strip().splitlines()
    own = len(lines) - (2 if ends_in_header(lead) else 1 if in_code(lead) else 0)
    masked = _outdented(REMNANT.sub("", _masked(citation, start, end)), before)
    opening = "".join(f"{line}\n" for line in lines[own:]) or _opening(masked, before)
    return Led(display(mask("\n".join(lines[:own]).strip())), Excerpt(masked, start, opening))


def _masked(citation: Citation, start: int, end: int) -> str:
    """The mask of a span of the file: by all of its section, where the citation has that."""
    base, text = citation.section_start, citation.section_text
    if not text.startswith(citation.quote, max(0, citation.start - base)):
        base, text = citation.start, citation.quote
    return _mask(text, suffix=PurePosixPath(citation.source).suffix)[start - base : end - base]


def _opening(quote: str, before: str) -> str:
    """The fence or the table's header that a quote lacks."""
    if in_code(before):
        return "```\n"
    is_row = "|" in quote.split("\n", 1)[0] and not ends_in_header("\n".join(quote.splitlines()[:2]))
    header = table_header(before) if is_row else ""
    return f"{header}\n" if header else ""


def _outdented(text: str, before: str) -> str:
    """`text`, of the same length, with `DROPPED` for the indent that later lines share with the first.

    `before` is the text before it. Within a quotation its mark is part of the indent.
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
