"""The blocks of a passage: paragraphs, lists, procedures, tables and code, each with its introduction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pipeline.answer import Passage, UnitKind
from pipeline.nodes import Node
from readers.dialects import display

LEAD_CHARACTERS = 240  # a paragraph of at most this length introduces the list, table or code after it
BLANK_LINE = re.compile(r"\n[ \t>]*\r?\n|\r[ \t>]*\r")
NUMBERED = re.compile(r"\d{1,3}[.)]\s")
FENCE_IN_LIST = re.compile(r"[\r\n][ \t]{2,}(?:`{3,}|~{3,})[^\r\n]*[\r\n]+[ \t]*\Z|[\r\n][ \t]{6,}\Z")
FENCE_ABOVE = re.compile(r"(?:`{3,}|~{3,})[^\r\n]*[\r\n]+[ \t]*\Z")
FENCE_BELOW = re.compile(r"[ \t]*(?:\r\n|\r|\n)[ \t]*(?:`{3,}|~{3,})(?=[ \t]*(?:[\r\n]|\Z))")
KINDS: Mapping[str, UnitKind] = {"list_item": "list", "table_row": "table", "code": "code"}


@dataclass(frozen=True, slots=True)
class Block:
    """A block as positions of leaves: `body` to `last`; its introduction is `first` to before `body`."""

    kind: UnitKind
    first: int
    body: int
    last: int


@dataclass(frozen=True, slots=True)
class PassageLeaves:
    """A passage and its leaves (sentences, rows, items, code) in reading order."""

    passage: Passage
    leaves: tuple[Node, ...]

    def before(self, position: int) -> str:
        """Return the text between a leaf and the leaf before it, or the beginning of the section."""
        offset = self.passage.section.start_char_idx
        start = self.leaves[position - 1].end_char_idx - offset if position else 0
        return self.passage.section.text[
            max(0, start) : max(0, self.leaves[position].start_char_idx - offset)
        ]

    def shown_before(self, position: int) -> str:
        """Return the text of `before` with markup masked, of the same length."""
        section, length = self.passage.section, len(self.before(position))
        end = self.leaves[position].start_char_idx - section.start_char_idx
        return str(section.metadata.get("shown", section.text))[end - length : end]

    def length(self, first: int, last: int) -> int:
        """Return the number of characters from the start of one leaf to the end of another."""
        return self.leaves[last].end_char_idx - self.leaves[first].start_char_idx

    def text(self, start: int, end: int) -> str:
        """Return the text between two offsets of the file."""
        offset = self.passage.section.start_char_idx
        return self.passage.section.text[start - offset : end - offset]

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the file offsets of a range of leaves, with its first bullet and the fences around code.

        If the leaves are from several sections, the heading above the first leaf is included.
        """
        leaf, final, gap = self.leaves[first], self.leaves[last], self.before(first)
        section = self.passage.section
        marks = re.split(r"[\r\n]", gap)[-1]
        if leaf.section_id != final.section_id:
            below_code = first and self.leaves[first - 1].metadata["kind"] == "code"
            above = FENCE_BELOW.match(gap) if below_code else None
            marks = gap[above.end() :] if above else gap
        elif leaf.metadata["kind"] == "code" and (fence := FENCE_ABOVE.search(gap)):
            marks = fence[0]
        below = FENCE_BELOW.match(section.text, final.end_char_idx - section.start_char_idx)
        fence_length = len(below[0]) if below and final.metadata["kind"] == "code" else 0
        return leaf.start_char_idx - len(marks.lstrip()), final.end_char_idx + fence_length


def blocks_of(found: PassageLeaves) -> list[Block]:
    """Return the blocks of a passage in reading order, each with the paragraph that introduces it, if any."""
    blocks = list[Block]()
    for position, leaf in enumerate(found.leaves):
        if blocks and _continues(found, blocks[-1].body, position):
            blocks[-1] = replace(blocks[-1], last=position)
            continue
        kind = KINDS.get(leaf.metadata["kind"], "paragraph")
        kind = "steps" if kind == "list" and NUMBERED.match(leaf.text) else kind
        blocks.append(Block(kind, position, position, position))
    joined = list[Block]()
    for block in blocks:
        is_led = bool(joined) and _introduces(found, joined[-1], block)
        joined.append(replace(block, first=joined.pop().first) if is_led else block)
    return joined


def _introduces(found: PassageLeaves, lead: Block, block: Block) -> bool:
    """Return whether a paragraph ends in a colon, or is short and precedes a list, a table or code."""
    last, following = found.leaves[lead.last], found.leaves[block.first]
    if lead.kind != "paragraph" or lead.first < lead.body:  # an introduced block introduces nothing
        return False
    if last.metadata["heading_path"] != following.metadata["heading_path"]:
        return False
    is_short = found.length(lead.first, lead.last) <= LEAD_CHARACTERS
    return last.text.rstrip("*_` \t").endswith((":", "：")) or (block.kind != "paragraph" and is_short)


def _continues(found: PassageLeaves, first: int, position: int) -> bool:
    """Return whether the leaf at `position` belongs to the block that begins at `first`."""
    begun, leaf, gap = found.leaves[first], found.leaves[position], found.before(position)
    kinds = begun.metadata["kind"], leaf.metadata["kind"]
    if begun.metadata["heading_path"] != leaf.metadata["heading_path"]:
        return False
    match kinds:
        case ("list_item", "list_item"):
            return True
        case ("list_item", "code"):
            return bool(FENCE_IN_LIST.search(gap))
        case ("table_row", "table_row"):
            header, own = leaf.metadata.get("header"), begun.metadata.get("header")
            if header is None:  # an HTML table without a header
                return own is None and begun.text.startswith("<")
            row = display(begun.metadata.get("shown", begun.text)).strip()
            return bool(own == header or row.startswith(header.rstrip("…")))
        case ("code", "code"):
            return not display(found.shown_before(position)).strip()
        case _:
            return kinds[0] == kinds[1] and not BLANK_LINE.search(gap)
