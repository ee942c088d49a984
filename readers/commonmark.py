"""A Markdown text's headings and the blocks of text between them, with their offsets.

The parser is markdown-it-py: CommonMark with tables, blocks only (inline markup is parsed for
headings alone), by rules that note the exact offsets. It is given the lines as readers see them
(`pipeline/markup/lines.py`); a block of nothing but marks is none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pipeline.markup.inline import closed_names, inline_marks
from pipeline.markup.lines import Line, read_lines
from pipeline.markup.readable import readable_block
from readers.blocks import NEWLINE, Block, Heading, Kind, blank_gaps
from readers.rules import LastTokens, Recorder, block_parser

MAX_INLINE_CHARACTERS = 2_000
"""Longer headings keep their markup: inline parsing is quadratic on hostile input."""

MAX_TITLE = 300
"""Longer headings are paragraphs: a name goes with each section and sentence below it."""
MAX_LINES = 250_000
"""Of one file as Markdown; for each the parser needs 500 bytes and up to 70 µs, however short it is."""

_INLINE_MARKUP = re.compile(r"[\\`*_\[\]<>&!\n]")
_SPACES = re.compile(r"\s+")
_INCLUDES = re.compile(
    r"(?>(?:\s*+\{\{#(?:include|rustdoc_include|playground|playpen)\b[^{}\n]*+\}\})+)\s*+|\s*+-+8<-+[^\n]*+\s*+"
)
"""Code of which nothing is there but where to find it."""


def parse_blocks(text: str, *, start: int = 0) -> list[Block | Heading]:
    """The headings and the non-blank blocks of `text[start:]`, in order; offsets count in `text`.

    What comes after `MAX_LINES` lines is one block, read as it is.
    """
    end = markdown_end(text, start)
    items = _parsed(text[:end], start)
    rest = Block(Kind.CODE, end, len(text))
    return [*items, rest] if text[end:].strip() else items


def markdown_end(text: str, start: int = 0) -> int:
    """Where the lines end that are read as Markdown."""
    last = next(islice(NEWLINE.finditer(text, start), MAX_LINES - 1, None), None)
    return last.end() if last else len(text)


def _parsed(text: str, start: int) -> list[Block | Heading]:
    lines = list(read_lines(text, start=start))
    body = "\n".join(text[line.start : line.end] for line in lines)
    recorder = Recorder(text, base=start, shifts=_shifts(lines, start) if body != text[start:] else None)
    parser = block_parser()
    parser.block.parse(body.replace("\0", "\ufffd"), parser, recorder.env, LastTokens())
    closed = _closed_names(text, recorder.items)
    return list(_finished(recorder.items, text, closed, recorder.env))


def _finished(
    items: Iterable[Block | Heading], text: str, closed: frozenset[str], env: dict[str, object]
) -> Iterator[Block | Heading]:
    """Headings with their plain text, now that every link definition is known; blocks with their marks."""
    for item in items:
        if isinstance(item, Heading):
            title = _plain_text(item.title, env)
            if len(title) <= MAX_TITLE:
                yield Heading(item.level, title, item.start, item.end)
            else:
                yield from _marked(Block(Kind.PROSE, item.start, item.end), text, closed)
        elif item.kind is not Kind.CODE:
            yield from _marked(item, text, closed)
        elif not _INCLUDES.fullmatch(text, item.start, item.end):
            yield item


def _marked(block: Block, text: str, closed: frozenset[str]) -> Iterator[Block]:
    """The block with its marks; nothing where it has no word beside them."""
    inside = blank_gaps(text, block)
    marks = inline_marks(inside, closed=closed)
    if not marks:
        yield block
    elif _has_words(inside, marks):
        yield replace(block, marks=tuple((block.start + first, block.start + last) for first, last in marks))


def _has_words(text: str, marks: Sequence[tuple[int, int]]) -> bool:
    starts = [0, *(last for _, last in marks)]
    ends = [*(first for first, _ in marks), len(text)]
    return any(any(map(str.isalnum, text[start:end])) for start, end in zip(starts, ends, strict=True))


def _closed_names(text: str, items: Iterable[Block | Heading]) -> frozenset[str]:
    """The names of all closing tags outside of code."""
    if "</" not in text:
        return frozenset()
    spans = (item for item in items if isinstance(item, Block) and item.kind is not Kind.CODE)
    return frozenset[str]().union(*(closed_names(text[span.start : span.end]) for span in spans))


def _plain_text(markup: str, env: dict[str, object]) -> str:
    if "{" in markup:
        markup = readable_block(markup) or markup
    if len(markup) <= MAX_INLINE_CHARACTERS and _INLINE_MARKUP.search(markup):
        tokens = _inline_parser().parseInline(markup, env)[0].children or []
        rendered = _SPACES.sub(" ", _rendered(tokens)).strip()
        if rendered:  # nothing but tags: better the tags than no name
            return rendered
    return _SPACES.sub(" ", markup).strip()


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


def _shifts(lines: Sequence[Line], start: int) -> list[int]:
    """For each of the parser's lines, how far its characters are from where they are in the text."""
    shifts, position = [], start
    for line in lines:
        shifts.append(line.start - position)
        position += line.end - line.start + 1
    return [*shifts, shifts[-1]]


@functools.cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")
