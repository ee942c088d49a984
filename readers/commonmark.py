"""A Markdown text's headings and the blocks of text between them, with their offsets.

The parser is markdown-it-py: CommonMark with tables, blocks only (inline markup is parsed for headings
alone). It reads a mask (`readers/dialects.py`), whose offsets are the file's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from markdown_it import MarkdownIt
from markdown_it.token import Token

from readers.blocks import NEWLINE, Block, Heading, Kind, shortened
from readers.dialects import display, is_seen
from readers.rules import MAX_HEADER, LastTokens, Recorder, block_parser

MAX_INLINE_CHARACTERS = 2_000
"""Longer headings keep their markup: inline parsing is quadratic on hostile input."""
MAX_TITLE = 300
"""Longer headings are paragraphs: a name goes with each section and sentence below it."""
MAX_LINES = 250_000
"""Of one file as Markdown; for each the parser needs 500 bytes and up to 70 µs, however short it is."""

_INLINE_MARKUP = re.compile(r"[\\`*_\[\]<>&!\n]")
_BRACKETS = re.compile(r"(?<![\w\]])\[([^\[\]\n]+)\](?![(\[])")
_ROW_TAG = re.compile(r"<(/?)(table|tr)\b[^<>]*>", re.IGNORECASE)
LOOKED_BACK = 200
"""Characters of a line around an HTML table that are looked at for other text."""
_LAYOUT = re.compile(r"\n[ \t]*(?:#|```)")
"""In an HTML table: its cells are pages of Markdown."""


def parse_blocks(
    masked: str, *, text: str = "", start: int = 0, indented_code: bool = True
) -> list[Block | Heading]:
    """The headings and the non-blank blocks of `masked[start:]`, in order; offsets count in `masked`.

    With `text`, which `masked` is the mask of, each row of an HTML table is a block. All lines after
    `MAX_LINES` are one block of code.
    """
    end = markdown_end(masked, start)
    body = masked[start:end].replace("\0", "\ufffd")
    if "\r" in body:
        body = body.replace("\r\n", " \n").replace("\r", "\n")
    rows: list[Block] = []
    pieces, position = [], 0
    for first, last, found in _html_tables(text, masked, start, end):
        rows += found
        blank = re.sub(r"[^\n]", " ", body[first - start : last - start])
        pieces += [body[position : first - start], blank]
        position = last - start
    body = "".join([*pieces, body[position:]])
    recorder = Recorder(body, base=start)
    parser = block_parser(indented_code=indented_code)
    parser.block.parse(body, parser, {"recorder": recorder}, LastTokens())
    items = list(map(_finished, recorder.items))
    if rows:
        items = sorted([*items, *rows], key=lambda item: item.start)
    rest = Block(Kind.CODE, end, len(masked))
    return [*items, rest] if masked[end:].strip() else items


def markdown_end(text: str, start: int = 0) -> int:
    """The offset at which the lines end that are read as Markdown."""
    last = next(islice(NEWLINE.finditer(text, start), MAX_LINES - 1, None), None)
    return last.end() if last else len(text)


def without_quote_marks(masked: str, items: Iterable[Block | Heading]) -> str:
    """`masked` with blanks for the `>` of quotes around a block, which the block's later lines have."""
    pieces: list[str] = []
    position = 0
    for item in items:
        if isinstance(item, Block) and item.quotes:
            text = re.sub(
                rf"(?<=[\r\n])(?>[ \t]*>){{1,{item.quotes}}}", _blank, masked[item.start : item.end]
            )
            pieces += [masked[position : item.start], text]
            position = item.end
    return "".join([*pieces, masked[position:]])


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


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


def _finished(item: Block | Heading) -> Block | Heading:
    """A heading with its plain text, or as a paragraph where that is too long; other blocks as they are."""
    if isinstance(item, Block):
        return item
    title = plain_text(item.title)
    if len(title) > MAX_TITLE:
        return Block(Kind.PROSE, item.start, item.end)
    return Heading(item.level, title, item.start, item.end)


def plain_text(markup: str) -> str:
    """A line of masked Markdown without its markup."""
    markup = display(markup)
    if len(markup) <= MAX_INLINE_CHARACTERS and _INLINE_MARKUP.search(markup):
        tokens = _inline_parser().parseInline(_BRACKETS.sub(r"\1", markup))[0].children or []
        markup = " ".join(_rendered(tokens).split()) or markup
    return " ".join(markup.split())


def _rendered(tokens: list[Token]) -> str:
    parts: list[str] = []
    for token in tokens:
        match token.type:
            case "softbreak" | "hardbreak":
                parts.append(" ")
            case "image":
                parts.append(_rendered(token.children or []))
            case "html_inline":
                pass
            case _:
                parts.append(token.content)
    return "".join(parts)


@functools.cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")
