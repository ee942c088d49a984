"""Markdown parser: headings and the blocks of text between them, with their offsets.

The parser is pulldown-cmark (pyromark): CommonMark with tables, in linear time. It reads a mask of the text
(`readers/dialects.py`) with one ASCII character for each character, so that its offsets are the file's.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise
from typing import Any, NamedTuple

import pyromark

from readers.dialects import END, FILL, ITEM, KIND, LABEL, ROW, TABLE, display, is_seen, mask, shortened
from readers.levels import Block, Heading, Kind

MAX_TITLE = 300
"""Most characters of a heading; a longer one becomes a paragraph, as each sentence stores its heading path.

Table rows store their table's header, cut to this length; the header row itself is a block of full length.
"""
MAX_BLOCKS = 15_000
"""Most blocks and headings that are parsed in one file; the text after them is one block of code."""

Item = Block | Heading

_LEAVES = {
    **dict.fromkeys(("Paragraph", "Heading", "HtmlBlock"), Kind.PROSE),
    **dict.fromkeys(("TableHead", "TableRow"), Kind.TABLE_ROW),
    "CodeBlock": Kind.CODE,
}
_BLOCKS = {*_LEAVES, "BlockQuote", "List", "Item", "Table", "Rule"}
_LABEL = re.compile(rf"^([ \t>]*(?:{ITEM}|(?={LABEL})))([^\n]+)", re.MULTILINE)
_NUMBER = re.compile(r"\d{1,9}[.)]\s*")
_TABLE = re.compile(f"{TABLE}[^{TABLE}{END}]*{END}")
_BRACKETS = re.compile(r"(?<![\w\]])\[([^\[\]\n]+)\](?![(\[])")


def parse_markdown(text: str, *, suffix: str = ".md", start: int = 0) -> tuple[str, list[Item]]:
    """Return the mask of `text` from `start` on, and the headings and non-blank blocks there, in order.

    The mask is as long as `text` (blanks before `start`); all offsets count in `text`. It also hides the `>`
    at the start of a quoted block's later lines. `suffix` is the file's: `.mdx` has no indented code.
    """
    masked = " " * start + mask(text[start:], suffix=suffix)
    body = "\n" * start + masked[start:].replace("\r\n", " \n").replace("\r", "\n")
    body, rows = _without_tables(text, body)
    seen = (label for label in _LABEL.finditer(body) if is_seen(label[2]))
    labels = [Block(Kind.PROSE, one.start(2), one.end(), quotes=one[1].count(">")) for one in seen]
    body = _LABEL.sub(lambda found: found[1] + " " * len(found[2]), body)
    items = list(islice(_blocks(body, indented_code=suffix.lower() != ".mdx"), MAX_BLOCKS))
    rest = items[-1].end if len(items) == MAX_BLOCKS else len(text)
    items += (item for item in (*rows, *labels) if item.start < rest)
    items.sort(key=lambda item: item.start)
    if rest < len(text):
        items.append(Block(Kind.CODE, rest, len(text)))
    return _without_quote_marks(masked, items), items


def plain_text(markup: str) -> str:
    """Return a line of masked Markdown as plain text, without markup."""
    return _plain(markup, _events(_ascii(markup)))


class _Event(NamedTuple):
    """A parser event and its span; the event at the start of a block has the span of the whole block."""

    name: str
    detail: Any
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf of the block tree: its first event, the events inside it, its containers (outermost first)."""

    event: _Event
    inside: list[_Event]
    around: tuple[_Event, ...]


def _ascii(masked: str) -> str:
    """Replace each non-ASCII character by `?`, so that the parser's byte offsets are character offsets."""
    return masked.encode("ascii", "replace").decode("ascii")


def _events(text: str) -> Iterator[_Event]:
    """Yield the parser's events, except the ends of blocks; the text is parsed lazily."""
    for event, place in pyromark.events_with_range(text, options=pyromark.Options.ENABLE_TABLES):
        name: str
        detail: Any
        name, detail = (event, "") if isinstance(event, str) else next(iter(event.items()))
        if name == "Start":
            name, detail = (detail, "") if isinstance(detail, str) else next(iter(detail.items()))
        if name != "End":
            yield _Event(name, detail, place["start"], place["end"])


def _leaves(text: str) -> Iterator[_Leaf]:
    """Yield the leaves of the block tree; the text of a tight list's item is a leaf without a paragraph."""
    around: list[_Event] = []
    leaf: _Leaf | None = None
    for event in _events(text):
        if leaf and event.name not in _BLOCKS and event.start < leaf.event.end:
            leaf.inside.append(event)
            continue
        if leaf:
            yield leaf
        while around and around[-1].end <= event.start:
            around.pop()
        leaf = None
        if event.name in _LEAVES:
            leaf = _Leaf(event, [], tuple(around))
        elif event.name not in _BLOCKS and around:  # without containers: a cell that its table row lacks
            leaf = _Leaf(_Event("Tight", "", event.start, around[-1].end), [event], tuple(around))
        elif event.name in ("BlockQuote", "Item"):
            around.append(event)
    if leaf:
        yield leaf


def _blocks(body: str, *, indented_code: bool) -> Iterator[Item]:
    """Yield the headings and blocks of `body`; without `indented_code`, indented lines are Markdown."""
    header = None
    for leaf in _leaves(_ascii(body)):
        event, is_heading = leaf.event, leaf.event.name == "Heading" and not leaf.around
        if is_heading and len(title := _plain(body, leaf.inside)) <= MAX_TITLE:
            yield Heading(int(event.detail["level"][1:]), title, event.start, event.end)
            continue
        if event.detail == "Indented" and not indented_code:
            yield from _dedented(body, leaf)
            continue
        start, end = _span(body, leaf)
        if event.name == "TableHead":
            header = shortened(display(body[start:end]).strip(), MAX_TITLE)
        quotes = sum(container.name == "BlockQuote" for container in leaf.around)
        is_kind = body.startswith(KIND, event.start) and "\n" not in body[start:end]  # a kind without text
        if not is_kind and is_seen(body[start:end].replace(">", " ") if quotes else body[start:end]):
            yield Block(_kind(body, leaf), start, end, header if event.name == "TableRow" else None, quotes)


def _kind(body: str, leaf: _Leaf) -> Kind:
    """Return the kind of a leaf's block; the text of an MkDocs block (masked as a list item) is prose."""
    kind, around = _LEAVES.get(leaf.event.name, Kind.PROSE), leaf.around[-1:]
    in_item = kind is Kind.PROSE and around and around[0].name == "Item"
    return Kind.LIST_ITEM if in_item and not body.startswith(ITEM, around[0].start) else kind


def _span(body: str, leaf: _Leaf) -> tuple[int, int]:
    """Return a leaf's span without fences and heading marks; an ordered item keeps its number."""
    event = leaf.event
    start, end = event.start, event.end
    if event.name in ("Heading", "CodeBlock", "Tight"):
        start = leaf.inside[0].start if leaf.inside else end
        end = max((inline.end for inline in leaf.inside), default=end)
    if event.detail == "Indented" and not leaf.around:
        start = body.rfind("\n", 0, start) + 1
    elif leaf.around and _NUMBER.fullmatch(body, leaf.around[-1].start, start):
        start = leaf.around[-1].start
    elif event.name != "CodeBlock":
        start = end - len(body[start:end].lstrip(f" \t\n{FILL}"))
    return start, start + len(body[start:end].rstrip())


def _dedented(body: str, leaf: _Leaf) -> Iterator[Item]:
    """Yield the headings and blocks of indented lines, parsed without their indent (as MDX does)."""
    lines = [body[line.start : line.end] for line in leaf.inside]
    starts = list(accumulate(map(len, lines), initial=0))

    def place(offset: int) -> int:
        line = min(bisect_right(starts, offset), len(lines)) - 1
        return leaf.inside[line].start + offset - starts[line]

    for item in _blocks("".join(lines), indented_code=True):
        yield replace(item, start=place(item.start), end=place(item.end - 1) + 1)


def _plain(text: str, events: Iterable[_Event]) -> str:
    """Return the text of inline events on one line, without brackets of links that have no target."""
    pieces = []
    for event in events:
        match event.name:
            case "Text" | "InlineHtml" | "Html":
                pieces.append(html.unescape(text[event.start : event.end]))
            case "Code":
                pieces.append(text[event.start : event.end].strip("`").strip())
            case "SoftBreak" | "HardBreak":
                pieces.append(" ")
    return _BRACKETS.sub(r"\1", " ".join(display("".join(pieces)).split()))


def _without_tables(text: str, body: str) -> tuple[str, list[Block]]:
    """Return `body` with HTML tables replaced by line endings, and a block for each row.

    The first row with `<th>` is the header of the rows below it.
    """
    rows: list[Block] = []
    for table in _TABLE.finditer(body):
        header = None
        begins = [table.start() + row.start() for row in re.finditer(ROW, table[0])]
        for start, end in pairwise([table.start(), *begins, table.end()]):
            if is_seen(body[start:end]):
                rows.append(Block(Kind.TABLE_ROW, start, end, header))
                if header is None and "<th" in text[start:end].lower():
                    header = shortened(display(body[start:end]).strip(), MAX_TITLE)
    return _TABLE.sub(lambda table: "\n" * len(table[0]), body), rows


def _without_quote_marks(masked: str, items: Iterable[Item]) -> str:
    """Return `masked` with blanks for the `>` at the start of each quoted block's second and later lines."""
    pieces: list[str] = []
    position = 0
    for item in items:
        if isinstance(item, Block) and item.quotes:
            marks = re.compile(rf"(?<=[\r\n])(?>[ \t]*>){{1,{item.quotes}}}")
            text = marks.sub(lambda found: " " * len(found[0]), masked[item.start : item.end])
            pieces += [masked[position : item.start], text]
            position = item.end
    return "".join([*pieces, masked[position:]])
