"""Units: a section's leaves as the wholes that they belong to, and the spans of it that can be quoted.

A quote must be understood by somebody who sees nothing else: a sentence stands with the one that it points
back to, a list with its lead-in, a row with its table's header. What does not fit is counted, not dropped.
"""

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
MOST_WORDS_OF_THE_LAST = 40  # a row or item that alone would be left out is shown, if no longer than this
FEWEST_LEAVES = 4  # of a block to which that applies: of three, one is a third
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

    says: bool  # it is more than markup
    announces: bool  # what follows
    label: bool  # a heading in a paragraph's clothes
    back: bool  # it points at what stands before it
    colon: bool  # it ends with one


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, procedure, table or code block: positions of its leaves, both ends included."""

    kind: UnitKind
    first: int
    last: int
    lead: int | None = None  # position of the first of the sentences right before it that introduce it


@dataclass(frozen=True, slots=True)
class Window:
    """Leaves of a section, from `first` to `last`, that can be quoted; `block` where they are part of one."""

    first: int
    last: int
    block: Block | None = None


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
        return section_of(self.leaves[first]) != section_of(self.leaves[last])

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


def section_of(leaf: Node) -> str:
    """The id of the section that a leaf is in; "" where it is not known."""
    return leaf.parent_node.node_id if leaf.parent_node else ""


def start_of(node: Node) -> int:
    """Offset in the file of a node's first character."""
    return node.start_char_idx or 0


def end_of(node: Node) -> int:
    """Offset in the file after a node's last character."""
    return node.end_char_idx or 0


def says_something(leaf: Node) -> bool:
    """False for what is markup alone: tags, comments, directives."""
    return form_of(leaf).says


def introduces(leaf: Node) -> bool:
    """True for a sentence that announces what follows: it ends with a colon, or says "this table"."""
    return form_of(leaf).announces


def is_label(leaf: Node) -> bool:
    """True for "Possible causes.": a few words, in bold or such as headings have, that name what follows."""
    return form_of(leaf).label


def points_back(leaf: Node) -> bool:
    """True where the sentence cannot be understood without the one before."""
    return form_of(leaf).back


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
        if position not in covered and says_something(leaf):
            before = position > section.block_of(position).first and points_back(leaf)
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
        labelled = position > block.first and is_label(section.leaves[position - 1])
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
    return not any(map(introduces, section.leaves[max(first, block.first) : position + 1]))


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
    if not says_something(last):
        return None
    if section.words(paragraph.first, paragraph.last) <= LEAD_IN_WORDS:
        return paragraph.first
    for first in range(paragraph.first, paragraph.last):
        if introduces(section.leaves[first]) and section.words(first, paragraph.last) <= LONG_LEAD_IN_WORDS:
            return first
    first = paragraph.last
    while first > paragraph.first and points_back(section.leaves[first]):
        first -= 1
    announcing = introduces(last) or section.words(first, paragraph.last) <= LEAD_IN_WORDS
    return first if announcing else None
