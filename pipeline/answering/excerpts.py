"""A quote as Markdown that can stand alone: rows under their header, code in a fence, items outdented."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.markup.readable import Edit, edited, find_edits, merged, readers_markdown

if TYPE_CHECKING:
    from pipeline.answer import Citation, Unit

FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
TABLE_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
INDENT = re.compile(r"[ \t>]*")  # what a line of a list or of a quotation begins with
REMNANT = re.compile(r"(\n[ \t|]*)+\Z")  # a row that was cut before its first word
BLANK_LINES = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some of a file's text, and where each of its characters came from."""

    quote: str
    start: int  # offset in the file of the quote's first character
    opening: str = ""  # the table's header or the fence, which the quote does not have itself
    edits: tuple[Edit, ...] = ()  # what is shown otherwise, ascending; offsets in the file

    @property
    def text(self) -> str:
        """All of it as Markdown."""
        return f"{self.opening}{self.quote}"

    def place(self, offset: int) -> int:
        """Where an offset in the file is in `text`."""
        place = len(self.opening) + max(0, offset - self.start)
        for first, last, shown in self.edits:
            if offset >= last:
                place += len(shown) - (last - first)
            elif offset > first:
                place += min(len(shown), offset - first) - (offset - first)
        return place


@dataclass(frozen=True, slots=True)
class Led:
    """A quote and the Markdown that introduces it, to be shown one above the other."""

    lead: str
    excerpt: Excerpt


def shown(unit: Unit, citation: Citation) -> Led:
    """What is shown of a unit: its quote after its lead."""
    return _led(unit.lead, citation.quote, citation.start, citation)


def readers_quote(citation: Citation) -> str:
    """The quote as Markdown, without what is not for readers."""
    return edited(citation.quote, _edits(citation.quote, citation.start, citation), base=citation.start)


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
    quote = REMNANT.sub("", quote)
    outdents = _outdents(quote, start, "" if in_code(before) else _indent(before.rpartition("\n")[2]))
    edits = merged([*_edits(quote, start, citation), *outdents])
    excerpt = Excerpt(edited(quote, edits, base=start), start, opening, tuple(edits))
    return Led(readers_markdown(lead), excerpt)


def _edits(quote: str, start: int, citation: Citation) -> list[Edit]:
    """What readers are shown otherwise: marks are known by all of their section, where it is there."""
    base, text = citation.section_start, citation.section_text
    if not text.startswith(quote, max(0, start - base)):
        base, text = start, quote
    found = find_edits(text, start - base, start - base + len(quote))
    return [(first + base, last + base, shown) for first, last, shown in found]


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


def _indent(line: str) -> str:
    """What the lines of a quote have in front that begins after this much of its line.

    Within a quotation that is its mark, too, where the quote begins in mid-line.
    """
    found = INDENT.match(line)
    indent = found[0] if found else ""
    return indent if indent == line or ">" in indent else ""


def _outdents(quote: str, start: int, indent: str) -> list[Edit]:
    """The indent of the quote's first line in the others."""
    edits: list[Edit] = []
    at = start
    for number, line in enumerate(quote.splitlines(keepends=True)):
        if number and (length := _shared(line, indent)):
            edits.append((at, at + length, ""))
        at += len(line)
    return edits


def _shared(line: str, indent: str) -> int:
    """How many of the indent's characters the line begins with."""
    pairs = enumerate(zip(line, indent, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(line), len(indent)))
