"""A Markdown text's headings and the blocks of text between them, with their offsets.

The parser is markdown-it-py: CommonMark with tables, blocks only (inline markup is parsed for
headings alone), by rules that note the exact offsets.
"""

from __future__ import annotations

import functools
import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

from readers.blocks import NEWLINE, Block, Heading
from readers.rules import Recorder, block_parser

MAX_INLINE_CHARACTERS = 2_000
"""Longer headings keep their markup: inline parsing is quadratic on hostile input."""

_INLINE_MARKUP = re.compile(r"[\\`*_\[\]<>&!\n]")
_SPACES = re.compile(r"\s+")


def parse_blocks(text: str, *, start: int = 0) -> list[Block | Heading]:
    """The headings and the non-blank blocks of `text[start:]`, in order; offsets count in `text`."""
    body = text[start:] if start else text
    shifts: list[int] | None = None
    if "\r" in body:
        shifts = _shifts(body)
        body = NEWLINE.sub("\n", body)
    recorder = Recorder(text, base=start, shifts=shifts)
    parser = block_parser()
    parser.block.parse(body.replace("\0", "\ufffd"), parser, recorder.env, [])
    return [_finished(item, recorder.env) for item in recorder.items]


def _finished(item: Block | Heading, env: dict[str, object]) -> Block | Heading:
    """Headings get their plain text last, when every link definition is known."""
    if isinstance(item, Block):
        return item
    return Heading(item.level, _plain_text(item.title, env), item.start, item.end)


def _plain_text(markup: str, env: dict[str, object]) -> str:
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


def _shifts(text: str) -> list[int]:
    """For each line, how far it moves when each CR LF becomes one character."""
    shifts, shift = [0], 0
    for newline in NEWLINE.finditer(text):
        shift += len(newline[0]) - 1
        shifts.append(shift)
    return [*shifts, shift]


@functools.cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")
