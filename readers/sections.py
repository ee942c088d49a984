"""Markdown text in, a section per heading out, with exact character offsets."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from readers.blocks import NEWLINE, Block, Heading, Kind, Lines
from readers.commonmark import parse_markdown
from readers.files import BOM
from readers.front_matter import read_front_matter
from readers.levels import Section, document_id, section_id
from readers.names import key_of, page_names

FREE_SECTIONS = 5_000
"""Sections of a file that may be as short as they like; each costs some kilobytes."""
LEAST_SECTION = 1_000
"""Characters that each later section has before the next heading ends it."""


def read_sections(
    text: str, *, source: str, own_lines: Sequence[int] = (), language: str = ""
) -> list[Section]:
    """The sections of `text`, in order; `text[start_char_idx:end_char_idx]` is each one's text.

    CommonMark with tables, YAML or TOML front matter, and the dialects of `readers/dialects.py`. A section is
    the text from a heading to the next heading of any level. Headings inside lists and quotes begin no
    section, and a heading without text of its own makes none. Text before the first heading is a section of
    level 0, whose heading path is the page's title.

    A section's metadata are `source`, `title`, `heading_path` (which begins with the title), `level`, `order`
    (from 0), `parent` (the id of the heading above, or ""), `start_line` and `end_line` (from 1, or by
    `own_lines`), `hash`, and where there are any `aliases`, `keywords`, `version`, `language` (ISO 639-1),
    `page`, `front_matter` and `shown` (the mask of the text, where it is another).
    """
    matter = read_front_matter(text, source=source, start=len(BOM) if text.startswith(BOM) else 0)
    masked, items = parse_markdown(text, suffix=PurePosixPath(source).suffix, start=matter.end)
    page = page_names(source, matter, _first_heading(items))
    page |= {"language": language} if language not in ("", "en") else {}
    page |= {"front_matter": matter.values} if matter.values else {}
    file = _File(text, masked, source, page["title"], page, Lines(text, own_lines))
    outlines = _outlines(items, page["title"], document=document_id(source), start=matter.end, end=len(text))
    return [file.section(outline, order) for order, outline in enumerate(outlines)]


def _first_heading(items: Sequence[Block | Heading]) -> str:
    headings = (item.title for item in items if isinstance(item, Heading) and item.level == 1 and item.title)
    return next(headings, "")


@dataclass(frozen=True, slots=True)
class _Outline:
    """A section to be: where its text may lie, its names, and the blocks in it."""

    node_id: str
    parent: str
    heading_path: tuple[str, ...]
    level: int
    start: int
    end: int
    blocks: list[Block]


def _outlines(
    items: Sequence[Block | Heading], title: str, *, document: str, start: int, end: int
) -> Iterator[_Outline]:
    """The sections between one heading and the next, where there is text.

    After `FREE_SECTIONS` a heading is a paragraph of the section above it where that is still short.
    """
    occurrences: Counter[tuple[str, ...]] = Counter()
    current = top = _Outline(section_id(document, (title,), 0), "", (title,), 0, start, end, [])
    above = [top]
    made = 0
    for item in items:
        if isinstance(item, Block):
            current.blocks.append(item)
            continue
        if made >= FREE_SECTIONS and current.blocks and item.start - current.start < LEAST_SECTION:
            current.blocks.append(Block(Kind.PROSE, item.start, item.end))
            continue
        if current.blocks:
            made += 1
            occurrences[title,] += current is top
            yield replace(current, end=item.start)
        above = [top, *(one for one in above[1:] if one.level < item.level)]
        path = above[-1].heading_path
        is_title = item.level == 1 and key_of(item.title) == key_of(title)
        if item.title and not is_title:
            path = (*path, item.title)
        parent = "" if is_title else above[-1].node_id
        node_id = section_id(document, path, occurrences[path])
        occurrences[path] += 1
        current = _Outline(node_id, parent, path, item.level, item.end, end, [])
        above.append(current)
    if current.blocks:
        yield current


@dataclass(frozen=True, slots=True)
class _File:
    """One file and its mask, of which sections are built."""

    text: str
    masked: str
    source: str
    title: str
    page: dict[str, Any]
    lines: Lines

    def section(self, outline: _Outline, order: int) -> Section:
        """The section of `outline`, without blanks and marks around its text."""
        start, end = self._trim(outline)
        text, shown = self.text[start:end], self.masked[start:end]
        metadata: dict[str, Any] = {
            "source": self.source,
            "title": self.title,
            "heading_path": list(outline.heading_path),
            "level": outline.level,
            "order": order,
            "parent": outline.parent,
            "start_line": self.lines.number(start),
            "end_line": self.lines.number(end - 1),
            "hash": _hash(self.title, outline.heading_path, self.page, text, shown),
            **self.page,
        }
        if (page := self.lines.page(start)) is not None:
            metadata["page"] = page
        if shown != text:
            metadata["shown"] = shown
        return Section(
            outline.node_id,
            text,
            metadata,
            start,
            end,
            document_id(self.source),
            blocks=tuple(outline.blocks),
            lines=self.lines,
        )

    def _trim(self, outline: _Outline) -> tuple[int, int]:
        """The span from the first line with text for readers to the last, without blanks around it.

        Only the indent that makes code code stays.
        """
        body = self.masked[outline.start : outline.end]
        first, last = len(body) - len(body.lstrip()), len(body.rstrip())
        first = max(body.rfind("\n", 0, first), body.rfind("\r", 0, first)) + 1
        line_end = NEWLINE.search(body, last)
        raw = self.text[outline.start + first : outline.start + (line_end.start() if line_end else len(body))]
        start = outline.start + first + len(raw) - len(raw.lstrip())
        end = outline.start + first + len(raw.rstrip())
        if outline.blocks[0].kind is Kind.CODE:
            start = min(start, outline.blocks[0].start)
        return start, end


def _hash(*parts: object) -> str:
    """The SHA-256 of all that an embedding of the section may depend on."""
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()
