"""The spans of a section that can be quoted, and the whole that each is a part of.

A quote must be understood by somebody who sees nothing else: a sentence stands with the one that it points
back to, a list with its lead-in, a row with its table's header. What does not fit is counted, not dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.answer import UnitKind
from pipeline.answering.section_blocks import (
    Block,
    SectionLeaves,
    end_of,
    form_of,
    lead_words,
    start_of,
)

MOST_WORDS_OF_THE_LAST = 40  # a row or item that alone would be left out is shown, if no longer than this
FEWEST_LEAVES = 4  # of a block to which that applies: of three, one is a third
ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]")


@dataclass(frozen=True, slots=True)
class Window:
    """Leaves of a section, from `first` to `last`, that can be quoted; `block` where they are part of one."""

    first: int
    last: int
    block: Block | None = None


def windows(section: SectionLeaves, *, most_words: int, most_in_block: int) -> Iterator[Window]:
    """Every span of the section that can be quoted: whole sentences and blocks, or part of one block.

    None is longer than `most_words` (`most_in_block` for rows, steps, items and code), unless a single leaf
    with what it needs is. Each leaf that says something is in at least one of them.
    """
    covered: set[int] = set()
    for window in _all_windows(section, most_words, most_in_block):
        covered.update(range(window.first, window.last + 1))
        yield window
    for position, leaf in enumerate(section.leaves):
        if position not in covered and form_of(leaf).says:
            before = position > section.block_of(position).first and form_of(leaf).back
            yield Window(position - before, position)


def _all_windows(section: SectionLeaves, most_words: int, most_in_block: int) -> Iterator[Window]:
    for first in range(len(section.leaves)):
        yield from _across(section, first, most_words)
    for block in section.blocks:
        if block.kind != "paragraph":
            yield from _inside(section, block, most_in_block)


def words_of(section: SectionLeaves, window: Window) -> int:
    """Words that a reader of the window reads, the lead of a part among them."""
    words = section.words(window.first, window.last)
    if window.block is None or window.first <= window.block.first:
        return words
    return words + lead_words(section, window.block)


def _across(section: SectionLeaves, first: int, most_words: int) -> Iterator[Window]:
    """Windows from this leaf on, of sentences and of whole blocks."""
    if not _may_begin(section, first):
        return
    begins = section.is_edge(first, by=-1)
    for last in range(first, len(section.leaves)):
        # A sentence that is too long by itself, or with the next that belongs to it, is quoted all the same.
        if section.words(first, last) > most_words and last > first + 1:
            return
        if section.crosses(first, last) and not (begins and section.is_edge(last, by=1)):
            continue  # sections stand together whole, or not at all
        if _may_end(section, first, last):
            yield Window(first, last)
            if section.words(first, last) > most_words:
                return


def _may_begin(section: SectionLeaves, position: int) -> bool:
    form, block = form_of(section.leaves[position]), section.block_of(position)
    if not form.says:
        return False
    if position == 0:
        return True
    if block.kind == "paragraph":
        labelled = position > block.first and form_of(section.leaves[position - 1]).label
        return not form.back and not labelled
    return position == block.first and block.lead is None


def _may_end(section: SectionLeaves, first: int, position: int) -> bool:
    """Whether a window from `first` on may end here: never on a label or before what it announces."""
    form, block = form_of(section.leaves[position]), section.block_of(position)
    if not form.says:
        return False
    if position == len(section.leaves) - 1:
        return True
    if form.label or form.colon:
        return False
    if block.kind != "paragraph":
        return position == block.last
    after = section.block_of(block.last + 1) if block.last + 1 < len(section.leaves) else None
    if after is None or after.lead is None:
        return True
    return not any(form_of(leaf).announces for leaf in section.leaves[max(first, block.first) : position + 1])


def _inside(section: SectionLeaves, block: Block, most_words: int) -> Iterator[Window]:
    """The whole list, procedure, table or code block; where it is too long, some of its parts.

    What introduces it is in the window where its first part is.
    """
    extra = lead_words(section, block)
    whole = Window(block.first if block.lead is None else block.lead, block.last, block)
    parts = list(_runs(section, block, most_words - extra))
    if any(_is_nearly_whole(section, block, first, last) for first, last in parts):
        yield whole
        return
    for first, last in parts:
        if block.kind != "table" or last > block.first:  # a header says nothing by itself
            yield Window(whole.first if first == block.first else first, last, block)


def _runs(section: SectionLeaves, block: Block, most_words: int) -> Iterator[tuple[int, int]]:
    """First and last leaf of all parts of a block that have at most so many words, or are one leaf."""
    for first in range(block.first, block.last + 1):
        for last in range(first, block.last + 1):
            if section.words(first, last) > most_words and last > first:
                break
            yield first, last


def _is_nearly_whole(section: SectionLeaves, block: Block, first: int, last: int) -> bool:
    """Whether a part is all of its block, or lacks one short row or item: "1 more row" takes as much room."""
    leaves, part = block.last - block.first + 1, last - first + 1
    lacking = section.words(block.first, block.last) - section.words(first, last)
    lacks_one = part == leaves - 1 and leaves >= FEWEST_LEAVES and block.kind != "code"
    return part == leaves or (lacks_one and lacking <= MOST_WORDS_OF_THE_LAST)


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
