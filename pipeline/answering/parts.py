"""What a quote is a part of: the whole, what stands before it, and how much of it is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.answer import UnitKind
from pipeline.answering.units import Block, SectionLeaves, Window, end_of, start_of

ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]")


@dataclass(frozen=True, slots=True)
class Part:
    """The whole that a quote is from, and how the quote lies in it."""

    kind: UnitKind
    start: int  # of the whole, in the file
    end: int
    lead: str = ""  # Markdown that stands before the quote
    left_out_before: int = 0  # rows, steps, items or lines
    left_out_after: int = 0


def part_of(section: SectionLeaves, window: Window, best: int) -> Part:
    """What the window is a part of; `best` is the position of the leaf that answers."""
    if window.block is None:
        start, end = section.span(window.first, window.last)
        return Part(_kind(section, window, best), start, end)
    block = window.block
    first = block.first if block.lead is None else block.lead
    start, end = section.span(first, block.last)
    begun = block.first if window.first <= block.first else window.first
    return Part(
        block.kind,
        start,
        end,
        lead=_lead(section, block) if begun > block.first else "",
        left_out_before=_count(section, block, block.first, begun - 1),
        left_out_after=_count(section, block, window.last + 1, block.last),
    )


def _kind(section: SectionLeaves, window: Window, best: int) -> UnitKind:
    """What a quote of whole sentences and blocks is, by the leaf that answers."""
    block = section.block_of(best)
    if block.kind != "paragraph":
        return block.kind
    return "paragraph" if window.first <= block.first and block.last <= window.last else "sentence"


def _lead(section: SectionLeaves, block: Block) -> str:
    """What introduces a block whose beginning is left out: a sentence, a table's header, a fence."""
    text, offset = section.text, section.offset
    introduction = ""
    if block.lead is not None:
        start, end = section.span(block.lead, block.first - 1)
        introduction = text[start - offset : end - offset]
    match block.kind:
        case "table":
            header = section.span(block.first, block.first)[0] - offset
            body = section.span(block.first + 1, block.first + 1)[0] - offset
            return "\n\n".join(filter(None, [introduction, text[header:body].strip()]))
        case "code":
            opened = text[section.span(block.first, block.first)[0] - offset : _inner(section, block)]
            return "\n\n".join(filter(None, [introduction, opened.strip()]))
        case _:
            return f"{introduction}\n" if introduction else ""


def _inner(section: SectionLeaves, block: Block) -> int:
    """Where the code of a fenced block begins, in the section's text."""
    return start_of(section.leaves[block.first]) - section.offset


def _count(section: SectionLeaves, block: Block, first: int, last: int) -> int:
    """How many rows, items or lines these leaves are; a table's header is no row, a nested block no item."""
    if first > last:
        return 0
    if block.kind == "code":
        offset = section.offset
        inside = section.text[
            start_of(section.leaves[first]) - offset : end_of(section.leaves[last]) - offset
        ]
        return inside.strip().count("\n") + 1
    if block.kind == "table":
        return last - max(first, block.first + 1) + 1
    offset = section.offset
    starts = (section.span(position, position)[0] - offset for position in range(first, last + 1))
    return sum(bool(ITEM.match(section.text, start)) for start in starts)
