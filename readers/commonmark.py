"""A Markdown text's headings and the blocks of text between them, with their offsets.

The parser is pulldown-cmark (pyromark): CommonMark with tables, in linear time. It reads a mask
(`readers/dialects.py`) with one ASCII character for each character, so that its offsets are the file's.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice

import pyromark

from readers.blocks import Block, Heading, Kind, shortened
from readers.dialects import ITEM, LABEL, display, is_seen

MAX_TITLE = 300
"""Longer headings are paragraphs: a name goes with each section and sentence below it."""
MAX_HEADER = 300
"""Characters of a table's header row that go with each of its rows; the row itself is a block, whole."""
MAX_BLOCKS = 250_000
"""Of one file as Markdown; the text after them is one block, which is read as it is."""

_LEAVES = frozenset({"Paragraph", "Heading", "CodeBlock", "HtmlBlock", "TableHead", "TableRow"})
_CONTAINERS = frozenset({"BlockQuote", "List", "Item", "Table"})
_BLOCKS = _LEAVES | _CONTAINERS | {"Rule"}
_LABEL_LINE = re.compile(rf"^([ \t>]*)({LABEL}[^\n]*)", re.MULTILINE)
_NUMBER = re.compile(r"\d{1,9}[.)]\s*")
_ROW_TAG = re.compile(r"<(/?)(table|tr)\b[^<>]*>", re.IGNORECASE)
_LAYOUT = re.compile(r"\n[ \t]*(?:#|```)")
"""In an HTML table: its cells are pages of Markdown."""
LOOKED_BACK = 200
"""Characters of a line around an HTML table that are looked at for other text."""
_BRACKETS = re.compile(r"(?<![\w\]])\[([^\[\]\n]+)\](?![(\[])")


def parse_blocks(
    masked: str, *, text: str = "", start: int = 0, indented_code: bool = True
) -> list[Block | Heading]:
    """The headings and the non-blank blocks of `masked[start:]`, in order; offsets count in `masked`.

    With `text`, which `masked` is the mask of, each row of an HTML table is a block. Without `indented_code`,
    as in MDX, an indent means nothing.
    """
    body = masked[start:].replace("\r\n", " \n").replace("\r", "\n")
    apart: list[Block] = []  # blocks that the parser does not see
    for first, last, rows in _html_tables(text, masked, start, len(masked)):
        apart += rows
        blank = re.sub(r"[^\n]", " ", body[first - start : last - start])
        body = body[: first - start] + blank + body[last - start :]
    for label in _LABEL_LINE.finditer(body) if LABEL in body else ():
        apart.append(
            Block(Kind.PROSE, start + label.start(2), start + label.end(), quotes=label[1].count(">"))
        )
    body = _LABEL_LINE.sub(lambda label: label[1] + " " * len(label[2]), body)
    items: list[Block | Heading] = list(islice(_blocks(body, start, indented_code=indented_code), MAX_BLOCKS))
    if len(items) == MAX_BLOCKS:
        items.append(Block(Kind.CODE, items[-1].end, len(masked)))
    return sorted([*items, *apart], key=lambda item: item.start) if apart else items


def plain_text(markup: str) -> str:
    """A line of masked Markdown without its markup."""
    return _plain(_seen(markup, event) for event in _events(_ascii(markup))) or " ".join(
        display(markup).split()
    )


def without_quote_marks(masked: str, items: Iterable[Block | Heading]) -> str:
    """`masked` with blanks for the `>` of quotes around a block, which the block's later lines have."""
    pieces: list[str] = []
    position = 0
    for item in items:
        if isinstance(item, Block) and item.quotes:
            marks = re.compile(rf"(?<=[\r\n])(?>[ \t]*>){{1,{item.quotes}}}")
            text = marks.sub(lambda found: " " * len(found[0]), masked[item.start : item.end])
            pieces += [masked[position : item.start], text]
            position = item.end
    return "".join([*pieces, masked[position:]])


@dataclass(frozen=True, slots=True)
class _Event:
    """What begins, ends or stands at a span; the name of an event that ends something begins with `/`."""

    name: str
    start: int
    end: int
    details: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf of the tree of blocks: its first event, those inside of it, and the innermost container."""

    event: _Event
    inside: Sequence[_Event]
    container: _Event | None
    quotes: int

    @property
    def content(self) -> tuple[int, int]:
        """The span of the events inside, else of the leaf."""
        if not self.inside:
            return self.event.start, self.event.end
        return self.inside[0].start, self.inside[-1].end


def _ascii(masked: str) -> str:
    """One ASCII character for each character, so that the parser's bytes are characters."""
    return masked.encode("ascii", "replace").decode("ascii")


def _events(text: str) -> Iterator[_Event]:
    """The parser's events, which it finds as they are asked for."""
    for event, place in pyromark.events_with_range(text, options=pyromark.Options.ENABLE_TABLES):
        kind, value = (event, "") if isinstance(event, str) else next(iter(event.items()))
        name, details = next(iter(value.items())) if isinstance(value, dict) else (str(value), None)
        name = {"Start": name, "End": f"/{name}"}.get(kind, kind)
        yield _Event(name, place["start"], place["end"], details if isinstance(details, dict) else None)


def _leaves(text: str) -> Iterator[_Leaf]:
    """The leaves of the tree of blocks, in order; an item of a tight list is a leaf without a paragraph."""
    around: list[_Event] = []
    leaf: _Event | None = None
    inside: list[_Event] = []
    quotes = 0
    for event in _events(text):
        if leaf and event.name != f"/{leaf.name}":
            inside.append(event)
            continue
        if not leaf and event.name.lstrip("/") not in _BLOCKS:
            inside.append(event)
            continue
        if leaf or inside:
            begun = leaf or _Event("Paragraph", inside[0].start, inside[-1].end)
            yield _Leaf(begun, inside, around[-1] if around else None, quotes)
        leaf, inside = event if event.name in _LEAVES else None, []
        if event.name in _CONTAINERS:
            around.append(event)
        elif event.name[1:] in _CONTAINERS:
            around.pop()
        quotes += (event.name == "BlockQuote") - (event.name == "/BlockQuote")


def _blocks(body: str, base: int, *, indented_code: bool) -> Iterator[Block | Heading]:
    """The headings and blocks of `body`, whose offsets are `base` less than those of the blocks."""
    header: str | None = None
    for leaf in _leaves(_ascii(body)):
        event, container = leaf.event, leaf.container
        if event.name == "Heading" and container is None and event.details:
            title = _plain(_seen(body, inner) for inner in leaf.inside)
            if len(title) <= MAX_TITLE:
                end = base + event.start + len(body[event.start : event.end].rstrip())
                yield Heading(int(event.details["level"][1:]), title, base + event.start, end)
                continue
        if event.name == "CodeBlock" and not (indented_code or event.details):
            yield from _dedented(leaf, body, base)
            continue
        start, end = leaf.content if event.name in ("Heading", "CodeBlock") else (event.start, event.end)
        kind = Kind.LIST_ITEM if container and container.name == "Item" else Kind.PROSE
        match event.name:
            case "CodeBlock":
                kind, start = (
                    Kind.CODE,
                    start if container or event.details else body.rfind("\n", 0, start) + 1,
                )
            case "TableHead" | "TableRow":
                kind, header = Kind.TABLE_ROW, None if event.name == "TableHead" else header
        if kind is Kind.LIST_ITEM and container and _NUMBER.fullmatch(body, container.start, start):
            start = container.start  # unlike a bullet, a number is text that other text refers to
        directive = container is not None and body.startswith(ITEM, container.start)
        first_line = body.find("\n", start, end) if directive and body.startswith(ITEM[-1], start) else -1
        for first, last in (
            [(start, first_line), (first_line + 1, end)] if first_line >= 0 else [(start, end)]
        ):
            last = first + len(body[first:last].rstrip())
            if is_seen(body[first:last].replace(">", " ") if leaf.quotes else body[first:last]):
                row = header if kind is Kind.TABLE_ROW else None
                yield Block(
                    Kind.PROSE if directive and kind is Kind.LIST_ITEM else kind,
                    base + first,
                    base + last,
                    row,
                    leaf.quotes,
                )
        if event.name == "TableHead":
            header = shortened(display(body[start:end]).strip(), MAX_HEADER)


def _dedented(leaf: _Leaf, body: str, base: int) -> Iterator[Block | Heading]:
    """The blocks of indented code that is none, read without the indent of its lines."""
    lines = [(line.start, body[line.start : line.end]) for line in leaf.inside]
    starts = list(accumulate((len(text) for _, text in lines), initial=0))
    inner = "".join(text for _, text in lines)

    def place(offset: int) -> int:
        line = min(bisect_right(starts, offset), len(lines)) - 1
        return base + lines[line][0] + offset - starts[line]

    for item in _blocks(inner, 0, indented_code=True):
        yield replace(item, start=place(item.start), end=place(item.end - 1) + 1)


def _seen(text: str, event: _Event) -> str:
    """What an event within a heading says to readers."""
    match event.name:
        case "Text" | "InlineHtml" | "Html":
            return html.unescape(text[event.start : event.end])
        case "Code":
            return text[event.start : event.end].strip("`").strip()
        case "SoftBreak" | "HardBreak":
            return " "
    return ""


def _plain(pieces: Iterable[str]) -> str:
    """The pieces of a heading on one line; brackets of a link without a target go."""
    return _BRACKETS.sub(r"\1", " ".join(display("".join(pieces)).split()))


def _html_tables(text: str, masked: str, start: int, end: int) -> Iterator[tuple[int, int, list[Block]]]:
    """Where each outermost HTML table begins and ends, and its rows; tags that the mask left are no tags.

    A row without a table begins one: a section may begin or end within its table.
    """
    depth, first, row = 0, 0, -1
    spans: list[tuple[int, int]] = []
    tags = _ROW_TAG.finditer(text, start, end) if "<t" in text.lower() else ()
    for tag in tags:
        closing, is_table = bool(tag[1]), tag[2].lower() == "table"
        if masked[tag.start()] == "<" or (closing and not depth):
            continue
        if not depth:
            first, spans, row = tag.start(), [], -1
        if row >= 0 and depth == 1:
            spans.append((row, tag.start()))
        if depth <= 1 or is_table:
            row = tag.end() if not is_table and not closing else -1
        depth += (1 - 2 * closing) if is_table else not depth
        if spans and not depth and _is_block(masked, first, tag.end()):
            yield first, tag.end(), list(_rows(spans, text, masked))
    if spans and depth and _is_block(masked, first, spans[-1][1]):
        yield first, spans[-1][1], list(_rows(spans, text, masked))


def _is_block(masked: str, first: int, last: int) -> bool:
    """Whether a table has its lines alone, and its cells are no pages of Markdown."""
    before = "\n" + masked[:first] if first < LOOKED_BACK else masked[first - LOOKED_BACK : first]
    after = masked[last : last + LOOKED_BACK] + "\n"
    around = re.split(r"[\r\n]", before)[-1], re.split(r"[\r\n]", after)[0]
    return not any(map(is_seen, around)) and not _LAYOUT.search(masked, first, last)


def _rows(spans: list[tuple[int, int]], text: str, masked: str) -> Iterator[Block]:
    header = None
    for first, last in spans:
        if not is_seen(masked[first:last]):
            continue
        yield Block(Kind.TABLE_ROW, first, last, header)
        if header is None and "<th" in text[first:last].lower():
            header = shortened("| " + " ".join(display(masked[first:last]).split()), MAX_HEADER)
