"""Splitting of Markdown text into one section for each heading, with exact character offsets."""

from __future__ import annotations

import hashlib
import json
import logging
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from readers.commonmark import MAX_BLOCKS, Item, parse_markdown
from readers.dialects import title_key
from readers.front_matter import read_front_matter
from readers.levels import NEWLINE, Block, Heading, Kind, Section, document_id, line_starts, section_id
from readers.names import page_names

_logger = logging.getLogger(__name__)


def read_sections(text: str, *, source: str, language: str = "") -> list[Section]:
    """Return the sections of `text`, in order; each section's text is `text[start_char_idx:end_char_idx]`.

    Reads CommonMark with tables, front matter (YAML or TOML) and the dialects of `readers/dialects.py`. A
    section is the text from a heading to the next of any level. A heading in a list or quote, or without text
    of its own, makes none. Text before the first heading is a section of level 0, whose heading path is the
    title. A page without text gives its front matter's description. The front matter's language comes first.

    A section's metadata are `source`, `title`, `heading_path` (which begins with the title), `level`, `order`
    (from 0), `start_line` and `end_line` (from 1), `hash`, and if present `aliases`, `keywords`, `version`,
    `language` (ISO 639-1, absent for English) and `shown` (the mask of the text, if it differs).
    """
    matter, start = read_front_matter(text, source=source)
    masked, items = parse_markdown(text, suffix=PurePosixPath(source).suffix, start=start)
    if len(items) > MAX_BLOCKS:
        _logger.warning("%r is read as plain text after %d headings and paragraphs", source, MAX_BLOCKS)
    headings = (item.title for item in items if isinstance(item, Heading) and item.level == 1)
    page: dict[str, Any] = page_names(source, matter, next(filter(None, headings), ""))
    language = page.pop("language", language)
    page |= {"language": language} if language not in ("", "en") else {}
    end, about = len(text), next(filter(text.__contains__, matter.get("description", ())), "")
    if about and not any(isinstance(item, Block) for item in items):
        start, end = text.index(about), text.index(about) + len(about)
        masked, items = text, [Block(Kind.PROSE, start, end)]
    sections: list[Section] = []
    lines, document = line_starts(text), document_id(source)
    for outline in _outlines(items, page["title"], document, start=start, end=end):
        first, last = _trimmed(text, masked, outline)
        own, shown = text[first:last], masked[first:last]
        metadata = {"source": source, "order": len(sections), **outline.names, **page}
        metadata |= {"start_line": bisect_right(lines, first), "end_line": bisect_right(lines, last - 1)}
        embedded = json.dumps([outline.names["heading_path"], page, own, shown])
        metadata["hash"] = hashlib.sha256(embedded.encode("ascii")).hexdigest()
        metadata |= {"shown": shown} if shown != own else {}
        blocks = tuple(outline.blocks)
        sections.append(Section(outline.node_id, own, metadata, first, last, document, blocks))
    return sections


@dataclass(frozen=True, slots=True)
class _Outline:
    """A section before it is built: its untrimmed span, its names and its blocks."""

    node_id: str
    names: dict[str, Any]
    """The section's `heading_path` and `level`."""
    start: int
    end: int
    blocks: list[Block] = field(default_factory=list)


def _outlines(
    items: Sequence[Item], title: str, document: str, *, start: int, end: int
) -> Iterator[_Outline]:
    """Yield an outline of the text from each heading to the next; one without text is left out."""
    occurrences: Counter[tuple[str, ...]] = Counter()
    names = {"heading_path": [title], "level": 0}
    current = top = _Outline(section_id(document, [title], 0), names, start, end)
    above = [top]
    for item in items:
        if isinstance(item, Block):
            current.blocks.append(item)
            continue
        if current.blocks:
            occurrences[title,] += current is top
            yield replace(current, end=item.start)
        above = [top, *(one for one in above[1:] if one.names["level"] < item.level)]
        path = above[-1].names["heading_path"]
        if item.title and not (item.level == 1 and title_key(item.title) == title_key(title)):
            path = [*path, item.title]
        node_id = section_id(document, path, occurrences[tuple(path)])
        occurrences[tuple(path)] += 1
        current = _Outline(node_id, {"heading_path": path, "level": item.level}, item.end, end)
        above.append(current)
    if current.blocks:
        yield current


def _trimmed(text: str, masked: str, outline: _Outline) -> tuple[int, int]:
    """Return the span from the first visible line of the outline to its last, without blanks around it.

    If the section begins with indented code, that code's indent is kept.
    """
    body = masked[outline.start : outline.end]
    first, last = len(body) - len(body.lstrip()), len(body.rstrip())
    start = outline.start + max(body.rfind("\n", 0, first), body.rfind("\r", 0, first)) + 1
    line_end = NEWLINE.search(body, last)
    raw = text[start : outline.start + line_end.start() if line_end else outline.end]
    left = start + len(raw) - len(raw.lstrip())
    is_code = outline.blocks[0].kind is Kind.CODE
    return min(left, outline.blocks[0].start) if is_code else left, start + len(raw.rstrip())
