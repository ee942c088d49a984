"""A section's leaves as the wholes that they belong to: paragraphs, lists, procedures, tables, code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from pipeline.answer import UnitKind
from pipeline.nodes import Node

PARAGRAPH_BREAK = re.compile(r"\n[ \t>]*\r?\n|\r[ \t>]*\r")
NUMBERED = re.compile(r"\d{1,3}[.)]\s")
INDENTED_FENCE = re.compile(r"[\r\n][ \t]{2,}(?:`{3,}|~{3,})[^\r\n]*[\r\n]+[ \t]*\Z|[\r\n][ \t]{6,}\Z")
LINE_MARKS = re.compile(r"[ \t]*(?:>[ \t]?)*(?:[-*+]|\d{1,9}[.)]|#{1,6})?[ \t]*(?:\[[ xX]\][ \t]+)?\|?[ \t]*")
FENCE_ABOVE = re.compile(r"(?:^|(?<=[\r\n]))[ \t]*(?:`{3,}|~{3,})[^\r\n]*(?:\r\n|\r|\n)[ \t]*\Z")
FENCE_BELOW = re.compile(r"[ \t]*(?:\r\n|\r|\n)[ \t]*(?:`{3,}|~{3,})(?=[ \t]*(?:[\r\n]|\Z))")
TAGS = re.compile(r"<[^>]*>|\{%[^%]*%\}|\{\{[^}]*\}\}|\{:[^}]*\}|<!--.*?-->", re.DOTALL)
# A sentence that opens with one of these points at what stands before it.
POINTS_BACK = re.compile(
    r"[*_`\"'(]*(?:(?:this|it|they|that|these|those|its|their|he|she|such|both|neither|otherwise|instead|then"
    r"|however|but|and|so|or|therefore|thus|hence|also|likewise|similarly|afterwards|as a result|for this"
    r"|in (?:this|that|both|such|either)|if (?:it|they|this|that|not|so)|when (?:it|they|this|that)"
    r"|the (?:first|second|third|fourth|last|latter|former|others?|same|next|rest|result|reason|two))\b)",
    re.IGNORECASE,
)
ANNOUNCES = re.compile(
    r":[*_`\"')\s]*\Z|\b(?:as follows|(?:this|the following|these|following|next) "
    r"(?:\w+ )?(?:tables?|lists?|steps?|codes?|examples?|commands?|listings?|order|rules?))\b|\bbelow\b"
    r"|\A(?:<[^<>]*>|[*_\s])*table \w+(?:[-.]\w+)*[:.]",  # the caption above it
    re.IGNORECASE,
)
LEAD_IN_WORDS = 40  # a longer sentence before a list, a table or code is text of its own
LONG_LEAD_IN_WORDS = 60  # where its first sentence says "this table": the ones between belong to both
KEPT_FORMS = 8192  # about 3 MB
LABEL_WORDS = 5  # "Possible causes.": a heading in a paragraph's clothes, when no longer than this
MARKED = re.compile(r"(\*\*|__|\*|_)(?:(?!\1).)+\1[.:]?", re.DOTALL)
LABEL = re.compile(
    r"\b(?:causes?|symptoms?|checks?|fix|steps|notes?|examples?|verification|procedure|actions?|warning|caution"
    r"|tip|important|prerequisites|parameters|see also)[.:]\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Form:
    """How a leaf reads, by its text alone."""

    says: bool  # it is more than markup: tags, comments, directives
    announces: bool  # what follows: it ends with a colon, or says "this table"
    label: bool  # "Possible causes.": few words, in bold or such as headings have, that name what follows
    back: bool  # it cannot be understood without the one before
    colon: bool  # it ends with one


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, procedure, table or code block: positions of its leaves, both ends included."""

    kind: UnitKind
    first: int
    last: int
    lead: int | None = None  # position of the first of the sentences right before it that introduce it


@dataclass(frozen=True, slots=True)
class SectionLeaves:
    """One section's leaves in order, in the text that they are from, and the blocks that they make."""

    text: str  # of the passage
    offset: int  # of the text in the file
    leaves: tuple[Node, ...]
    blocks: tuple[Block, ...]
    until: tuple[int, ...]  # words before each leaf, and of all at the end
    block_at: tuple[int, ...]  # which block each leaf is in

    @classmethod
    def of(cls, leaves: Sequence[Node], *, text: str, offset: int) -> SectionLeaves:
        """The leaves with their blocks found."""
        until = (0, *accumulate(len(leaf.text.split()) for leaf in leaves))
        plain = cls(text, offset, tuple(leaves), (), until, ())
        blocks = tuple(_with_leads(plain, _blocks(plain)))
        block_at = tuple(
            number for number, block in enumerate(blocks) for _ in range(block.first, block.last + 1)
        )
        return cls(text, offset, tuple(leaves), blocks, until, block_at)

    def words(self, first: int, last: int) -> int:
        """How many words these leaves have."""
        return self.until[last + 1] - self.until[first]

    def before(self, position: int) -> str:
        """What stands between the leaf and the one before it: white space, marks, fences."""
        start = end_of(self.leaves[position - 1]) if position else self.offset
        return self.text[max(0, start - self.offset) : start_of(self.leaves[position]) - self.offset]

    def block_of(self, position: int) -> Block:
        """The block that a leaf is in."""
        return self.blocks[self.block_at[position]]

    def crosses(self, first: int, last: int) -> bool:
        """Whether these leaves are of more than one section of a parent."""
        return self.leaves[first].section_id != self.leaves[last].section_id

    def is_edge(self, position: int, *, by: int) -> bool:
        """Whether the leaf is the first (`by` = -1) or the last (1) of its section."""
        other = position + by
        return not 0 <= other < len(self.leaves) or self.crosses(position, other)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Offsets in the file of these leaves with what belongs to them: bullets, marks, fences.

        Where they are of several sections, the heading of the first belongs to them like those of the others.
        """
        start = start_of(self.leaves[first]) - self.offset
        end = end_of(self.leaves[last]) - self.offset
        line = max(self.text.rfind("\n", 0, start), self.text.rfind("\r", 0, start)) + 1
        if self.crosses(first, last):
            start -= len(self.before(first).lstrip())
        elif self.leaves[first].metadata["kind"] == "code":
            fence = FENCE_ABOVE.search(self.text, 0, start)
            start = fence.start() if fence else start
        elif LINE_MARKS.fullmatch(self.text, line, start):
            start = line + len(self.text[line:start]) - len(self.text[line:start].lstrip(" \t"))
        if self.leaves[last].metadata["kind"] == "code" and (fence := FENCE_BELOW.match(self.text, end)):
            end = fence.end()
        return start + self.offset, end + self.offset


def start_of(node: Node) -> int:
    """Offset in the file of a node's first character."""
    return node.start_char_idx or 0


def end_of(node: Node) -> int:
    """Offset in the file after a node's last character."""
    return node.end_char_idx or 0


def form_of(leaf: Node) -> Form:
    """How the leaf reads."""
    return _form(leaf.text, leaf.metadata["kind"])


def ends_with_colon(text: str) -> bool:
    """Whether a text ends in a colon, maybe within marks of emphasis or code: it introduces what follows."""
    return text.rstrip("*_` \t").endswith(":")


@lru_cache(maxsize=KEPT_FORMS)
def _form(text: str, kind: str) -> Form:
    plain = text.strip()
    colon = ends_with_colon(plain)
    short = kind == "prose" and len(plain.split()) <= LABEL_WORDS
    return Form(
        says=bool(re.search(r"\w", TAGS.sub("", text) if "<" in text or "{" in text else text)),
        announces=kind in ("prose", "list_item") and bool(ANNOUNCES.search(text)),
        label=short and bool(colon or plain[-1:].isalnum() or MARKED.fullmatch(plain) or LABEL.search(plain)),
        back=kind == "prose" and bool(POINTS_BACK.match(text)),
        colon=colon,
    )


def lead_words(section: SectionLeaves, block: Block) -> int:
    """Words that a part of the block brings along: its lead-in's and its header's."""
    lead = section.words(block.lead, block.first - 1) if block.lead is not None else 0
    return lead + (section.words(block.first, block.first) if block.kind == "table" else 0)


def _blocks(section: SectionLeaves) -> Iterator[Block]:
    """The blocks of a section, without their lead-ins."""
    first = 0
    for position in range(1, len(section.leaves) + 1):
        if position == len(section.leaves) or not _continues(section, first, position):
            yield Block(_kind(section.leaves[first]), first, position - 1)
            first = position


def _continues(section: SectionLeaves, first: int, position: int) -> bool:
    """Whether a leaf belongs to the block that begins at `first`."""
    begun, leaf = section.leaves[first], section.leaves[position]
    kind, gap = leaf.metadata["kind"], section.before(position)
    if begun.metadata["heading_path"] != leaf.metadata["heading_path"]:
        return False
    match begun.metadata["kind"]:
        case "list_item":
            return bool(kind == "list_item" or (kind == "code" and INDENTED_FENCE.search(gap)))
        case "table_row":
            header = begun.metadata.get("header", begun.text)
            return bool(kind == "table_row" and leaf.metadata.get("header") == header)
        case "code":
            return bool(kind == "code" and not gap.strip())
        case begun_kind:
            return bool(kind == begun_kind and not PARAGRAPH_BREAK.search(gap))


def _kind(leaf: Node) -> UnitKind:
    """What a block is that begins with this leaf."""
    match leaf.metadata["kind"]:
        case "list_item":
            return "steps" if NUMBERED.match(leaf.text) else "list"
        case "table_row":
            return "table"
        case "code":
            return "code"
        case _:
            return "paragraph"


def _with_leads(section: SectionLeaves, blocks: Iterator[Block]) -> Iterator[Block]:
    """The blocks, each that is no paragraph with the sentences that introduce it."""
    previous: Block | None = None
    for block in blocks:
        if block.kind != "paragraph" and previous and previous.kind == "paragraph":
            block = Block(block.kind, block.first, block.last, _lead(section, previous, block))
        yield block
        previous = block


def _lead(section: SectionLeaves, paragraph: Block, block: Block) -> int | None:
    """Where what introduces the block begins in the paragraph before it: all of it while short.

    Else what follows a sentence that announces it, else the last sentence, with those that it points back to.
    """
    last = section.leaves[paragraph.last]
    if last.metadata["heading_path"] != section.leaves[block.first].metadata["heading_path"]:
        return None
    if not form_of(last).says:
        return None
    if section.words(paragraph.first, paragraph.last) <= LEAD_IN_WORDS:
        return paragraph.first
    for first in range(paragraph.first, paragraph.last):
        announces = form_of(section.leaves[first]).announces
        if announces and section.words(first, paragraph.last) <= LONG_LEAD_IN_WORDS:
            return first
    first = paragraph.last
    while first > paragraph.first and form_of(section.leaves[first]).back:
        first -= 1
    announcing = form_of(last).announces or section.words(first, paragraph.last) <= LEAD_IN_WORDS
    return first if announcing else None
