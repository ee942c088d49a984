"""Parse a Markdown text into its headings and the blocks of text between them, with their offsets.

The parser is pulldown-cmark (pyromark): CommonMark with tables, in linear time. It reads a mask of the text
(`readers/dialects.py`) with one ASCII character for each character, so that its offsets are the file's.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise

import pyromark

from readers.blocks import Block, Heading, Kind, shortened
from readers.dialects import FILL, ITEM, LABEL, display, is_seen, mask

MAX_TITLE = 300
"""Longer headings are paragraphs: a name goes with each section and sentence below it."""
MAX_HEADER = 300
"""Characters of a table's header row that go with each of its rows; the row itself is a block, whole."""
MAX_BLOCKS = 250_000
"""Of one file as Markdown; the text after them is one block, which is read as it is."""
LOOKED_BACK = 200
"""Characters of a line on each side of an HTML table that are searched for other text."""

Item = Block | Heading

_LEAVES = frozenset({"Paragraph", "Heading", "CodeBlock", "HtmlBlock", "TableHead", "TableRow"})
_CONTAINERS = frozenset({"BlockQuote", "List", "Item", "Table"})
_BLOCKS = _LEAVES | _CONTAINERS | {"Rule"}
_LABEL = re.compile(rf"^([ \t>]*(?:{ITEM}|(?={LABEL})))([^\n]+)", re.MULTILINE)
_NUMBER = re.compile(r"\d{1,9}[.)]\s*")
_TABLE = re.compile(r"<table\b(?>(?:[^<]++|<(?!/?table\b))*)</table\s*>", re.IGNORECASE)
_ROW = re.compile(r"<tr\b", re.IGNORECASE)
_PAGES = re.compile(r"\n[ \t]*(?:#|```)")
"""In an HTML table: its cells are pages of Markdown."""
_BRACKETS = re.compile(r"(?<![\w\]])\[([^\[\]\n]+)\](?![(\[])")


def parse_markdown(
    text: str, *, suffix: str = ".md", start: int = 0, masked: str = ""
) -> tuple[str, list[Item]]:
    """Return `text[start:]` as readers see it, and its headings and non-blank blocks in order.

    The former has the length of `text`, as all offsets count in it; `masked` is its mask, where the caller
    has that. Also masked are the `>` of quotes in front of a block's later lines. `suffix` is the file's: in
    MDX an indent means nothing.
    """
    masked = masked or " " * start + mask(text[start:], suffix=suffix)
    body = "\n" * start + masked[start:].replace("\r\n", " \n").replace("\r", "\n")
    body, rows = _without_tables(text, body)
    labels = [_label(found) for found in _LABEL.finditer(body) if is_seen(found[2])]
    body = _LABEL.sub(lambda found: found[1] + " " * len(found[2]), body)
    items = list(islice(_blocks(body, indented_code=suffix.lower() != ".mdx"), MAX_BLOCKS))
    rest = items[-1].end if len(items) == MAX_BLOCKS else len(text)
    items += (item for item in (*rows, *labels) if item.start < rest)
    items.sort(key=lambda item: item.start)
    if rest < len(text):
        items.append(Block(Kind.CODE, rest, len(text)))
    return _without_quote_marks(masked, items), items


def plain_text(markup: str) -> str:
    """A line of masked Markdown without its markup."""
    return _plain(markup, _events(_ascii(markup))) or " ".join(display(markup).split())


@dataclass(frozen=True, slots=True)
class _Event:
    """The parser's event: something begins, ends (its name then begins with `/`) or stands at a span."""

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
    def is_indented_code(self) -> bool:
        """Whether it is code without a fence."""
        return self.event.name == "CodeBlock" and not self.event.details


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
        if event.name != f"/{leaf.name}" if leaf else event.name.lstrip("/") not in _BLOCKS:
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


def _blocks(body: str, *, indented_code: bool) -> Iterator[Item]:
    """The headings and blocks of `body`; without `indented_code` an indent makes no code."""
    header = None
    for leaf in _leaves(_ascii(body)):
        title = _title(body, leaf)
        start, end = _span(body, leaf)
        if title is not None:
            event = leaf.event
            yield Heading(int((event.details or {})["level"][1:]), title, event.start, end)
        elif leaf.is_indented_code and not indented_code:
            yield from _dedented(body, leaf)
        elif is_seen(body[start:end].replace(">", " ") if leaf.quotes else body[start:end]):
            row = header if leaf.event.name == "TableRow" else None
            yield Block(_kind(body, leaf), start, end, row, leaf.quotes)
        if leaf.event.name == "TableHead":
            header = shortened(display(body[start:end]).strip(), MAX_HEADER)


def _title(body: str, leaf: _Leaf) -> str | None:
    """The text of a heading that begins a section; None of another leaf."""
    title = _plain(body, leaf.inside) if leaf.event.name == "Heading" and not leaf.container else None
    return title if title is not None and len(title) <= MAX_TITLE else None


def _kind(body: str, leaf: _Leaf) -> Kind:
    match leaf.event.name, leaf.container:
        case "CodeBlock", _:
            return Kind.CODE
        case "TableHead" | "TableRow", _:
            return Kind.TABLE_ROW
        case _, _Event("Item", start) if not body.startswith(ITEM, start):
            return Kind.LIST_ITEM
    return Kind.PROSE


def _span(body: str, leaf: _Leaf) -> tuple[int, int]:
    """A leaf's text: without fences and signs of headings, but with an item's number, which text refers to."""
    start, end = leaf.event.start, leaf.event.end
    if leaf.event.name in ("Heading", "CodeBlock"):
        start, end = (leaf.inside[0].start, leaf.inside[-1].end) if leaf.inside else (end, end)
    if leaf.is_indented_code and not leaf.container:
        start = body.rfind("\n", 0, start) + 1
    elif leaf.container and _NUMBER.fullmatch(body, leaf.container.start, start):
        start = leaf.container.start
    elif leaf.event.name == "Paragraph":
        start = end - len(body[start:end].lstrip(f" \t\n{FILL}"))
    return start, start + len(body[start:end].rstrip())


def _dedented(body: str, leaf: _Leaf) -> Iterator[Item]:
    """The blocks of indented code that is none, read without the indent of its lines."""
    lines = [body[line.start : line.end] for line in leaf.inside]
    starts = list(accumulate(map(len, lines), initial=0))

    def place(offset: int) -> int:
        line = min(bisect_right(starts, offset), len(lines)) - 1
        return leaf.inside[line].start + offset - starts[line]

    for item in _blocks("".join(lines), indented_code=True):
        yield replace(item, start=place(item.start), end=place(item.end - 1) + 1)


def _plain(text: str, events: Iterable[_Event]) -> str:
    """The text of inline events on one line; brackets of a link without a target go."""
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


def _label(found: re.Match[str]) -> Block:
    """The block of a line that a mark has for itself, such as an admonition's title."""
    return Block(Kind.PROSE, found.start(2), found.end(), quotes=found[1].count(">"))


def _without_tables(text: str, body: str) -> tuple[str, list[Block]]:
    """`body` with blanks for HTML tables that have their lines alone, and a block for each of their rows."""
    rows: list[Block] = []
    for table in _TABLE.finditer(text) if "</t" in text.lower() else ():
        start, end = table.span()
        before, after = body[max(0, start - LOOKED_BACK) : start], body[end : end + LOOKED_BACK]
        is_alone = not (is_seen(before.rpartition("\n")[2]) or is_seen(after.partition("\n")[0]))
        if is_alone and body[start] != "<" and not _PAGES.search(body, start, end):  # `<` stays in code alone
            rows += _rows(table, body)
            body = body[:start] + re.sub(r"[^\n]", " ", body[start:end]) + body[end:]
    return body, rows


def _rows(table: re.Match[str], body: str) -> Iterator[Block]:
    """The rows of a table; one with `<th>` is the header of those below."""
    header = None
    bounds = [
        table.start(),
        *[row.start() + table.start() for row in _ROW.finditer(table[0])][1:],
        table.end(),
    ]
    for start, end in pairwise(bounds):
        if is_seen(body[start:end]):
            yield Block(Kind.TABLE_ROW, start, end, header)
            if header is None and "<th" in table.string[start:end].lower():
                header = shortened("| " + " ".join(display(body[start:end]).split()), MAX_HEADER)


def _without_quote_marks(masked: str, items: Iterable[Item]) -> str:
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
