"""A quote as Markdown that can stand alone: rows under their header, code in a fence, items outdented."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.answer import Citation, Unit

FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
TABLE_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
INDENT = re.compile(r"[ \t>]*\Z")  # what stands before a quoted item or quotation in its first line
REMNANT = re.compile(r"(\n[ \t|]*)+\Z")  # a row that was cut before its first word
BLANK_LINES = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some of a file's text, and where each of its characters came from."""

    quote: str
    start: int  # offset in the file of the quote's first character
    opening: str = ""  # the table's header or the fence, which the quote does not have itself
    cuts: tuple[tuple[int, int], ...] = ()  # (offset in the file, characters removed there), ascending

    @property
    def text(self) -> str:
        """All of it as Markdown."""
        return f"{self.opening}{self.quote}"

    def place(self, offset: int) -> int:
        """Where an offset in the file is in `text`."""
        removed = sum(min(length, max(0, offset - at)) for at, length in self.cuts)
        return len(self.opening) + max(0, offset - self.start) - removed


@dataclass(frozen=True, slots=True)
class Led:
    """A quote and the Markdown that introduces it, to be shown one above the other."""

    lead: str
    excerpt: Excerpt


def shown(unit: Unit, citation: Citation) -> Led:
    """What is shown of a unit: its quote after its lead."""
    return _led(unit.lead, citation.quote, citation.start, citation)


def whole(unit: Unit, citation: Citation) -> Led | None:
    """All of a unit; None where nothing is left out, or where the citation does not have its text."""
    start, end = unit.start - citation.section_start, unit.end - citation.section_start
    if not unit.left_out or not 0 <= start < end <= len(citation.section_text):
        return None
    text = citation.section_text[start:end]
    lead = "\n\n".join(block for block in BLANK_LINES.split(unit.lead) if block.strip() not in text)
    return _led(lead, text, unit.start, citation)


def _led(lead: str, quote: str, start: int, citation: Citation) -> Led:
    before = text_before(citation, start)
    lead, opening = _parted(lead.strip())
    if not opening:
        opening = _opening(quote, before)
    indent = INDENT.search(before.rpartition("\n")[2])
    text, cuts = _outdented(
        REMNANT.sub("", quote), start, "" if indent is None or in_code(before) else indent[0]
    )
    return Led(lead, Excerpt(text, start, opening, cuts))


def _parted(lead: str) -> tuple[str, str]:
    """A lead without the header or the fence at its end, and these: they belong to the quote's block."""
    lines = lead.splitlines()
    length = 2 if ends_in_header(lead) else 1 if in_code(lead) else 0
    if not length:
        return lead, ""
    return "\n".join(lines[:-length]).strip(), "\n".join(lines[-length:]) + "\n"


def _opening(quote: str, before: str) -> str:
    if in_code(before):
        return "```\n"
    if ends_in_header("\n".join(quote.splitlines()[:2])) or "|" not in quote.split("\n", 1)[0]:
        return ""
    header = table_header(before)
    return f"{header}\n" if header else ""


def text_before(citation: Citation, start: int) -> str:
    """What stands before an offset of the file in the citation's section."""
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


def _outdented(quote: str, start: int, indent: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The quote without the indent of its first line in the others, and what was cut where."""
    lines, cuts, at = [], [], start
    for number, line in enumerate(quote.splitlines(keepends=True)):
        length = _shared(line, indent) if number else 0
        if length:
            cuts.append((at, length))
        lines.append(line[length:])
        at += len(line)
    return "".join(lines), tuple(cuts)


def _shared(line: str, indent: str) -> int:
    """How many of the indent's characters the line begins with."""
    pairs = enumerate(zip(line, indent, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(line), len(indent)))
