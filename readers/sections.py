"""Markdown text in, a section per heading out, with exact character offsets."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from pipeline.markup.lines import read_lines
from readers.blocks import Block, Heading, Kind, Lines, shortened
from readers.commonmark import MAX_TITLE, parse_blocks
from readers.files import BOM
from readers.front_matter import Scalar, read_front_matter
from readers.levels import Section, document_id, section_id

FREE_SECTIONS = 5_000
"""Sections of a file that may be as short as they like; each costs some kilobytes."""
LEAST_SECTION = 1_000
"""Characters that one of those after them has, before the next heading ends it."""


def read_sections(
    text: str, *, source: str, own_lines: Sequence[int] = (), language: str = ""
) -> list[Section]:
    """The sections of `text`, in order; `text[start_char_idx:end_char_idx]` is each one's text.

    CommonMark with tables, YAML or TOML front matter. A section is the text from a heading to the next
    heading of any level. Headings inside lists and quotes begin no section, and a heading without text of
    its own makes none; comments, tags and directives are not text. Text before the first heading is a section
    of level 0 with an empty heading path.

    A section's metadata are `source`, `title` (of the document), `heading_path`, `level`,
    `start_line` and `end_line` (from 1, or by `own_lines`), `hash`, and `page` and `front_matter` where there
    are any.
    """
    matter = read_front_matter(text, source=source, start=len(BOM) if text.startswith(BOM) else 0)
    items = parse_blocks(text, start=matter.end)
    title = _title(items, matter.values, source)
    file = _File(text, source, title, matter.values, Lines(text, own_lines))
    outlines = _outlines(items, start=_first_seen(text, matter.end), end=len(text))
    sections = [file.section(outline) for outline in outlines]
    if language in ("", "en"):
        return sections
    return [replace(one, metadata={**one.metadata, "language": language}) for one in sections]


def _first_seen(text: str, start: int) -> int:
    """Where the first line is that is no mark, such as the imports of an MDX page."""
    return next((line.start for line in read_lines(text, start=start) if not line.mark), len(text))


@dataclass(frozen=True, slots=True)
class _Outline:
    """A section to be: where its text may lie, and what it is called."""

    heading_path: tuple[str, ...]
    occurrence: int
    level: int
    start: int
    end: int
    blocks: list[Block]


def _outlines(items: Sequence[Block | Heading], *, start: int, end: int) -> Iterator[_Outline]:
    """What lies between one heading and the next, where there is text.

    After `FREE_SECTIONS` a heading is a paragraph of the section above it where that is still short.
    """
    occurrences: Counter[tuple[str, ...]] = Counter({(): 1})  # the text before any heading
    parents: list[Heading] = []
    current = _Outline((), 0, 0, start, end, [])
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
            yield replace(current, end=item.start)
        parents = [*(parent for parent in parents if parent.level < item.level), item]
        path = tuple(heading.title for heading in parents if heading.title)
        current = _Outline(path, occurrences[path], item.level, item.end, end, [])
        occurrences[path] += 1
    if current.blocks:
        yield current


def _title(items: Sequence[Block | Heading], front_matter: Mapping[str, Scalar], source: str) -> str:
    """The first heading of level 1, else the front matter's title, else the file's name."""
    for item in items:
        if isinstance(item, Heading) and item.level == 1 and item.title:
            return item.title
    return shortened(str(front_matter.get("title", "")).strip(), MAX_TITLE) or PurePosixPath(source).stem


@dataclass(frozen=True, slots=True)
class _File:
    """One file, of which sections are built."""

    text: str
    source: str
    title: str
    front_matter: Mapping[str, Scalar]
    lines: Lines

    def section(self, outline: _Outline) -> Section:
        """The section of `outline`."""
        start, end = self._trim(outline)
        document = document_id(self.source)
        return Section(
            node_id=section_id(document, outline.heading_path, outline.occurrence),
            text=self.text[start:end],
            metadata=self._metadata(outline, start, end),
            start_char_idx=start,
            end_char_idx=end,
            document_id=document,
            blocks=tuple(outline.blocks),
            lines=self.lines,
        )

    def _trim(self, outline: _Outline) -> tuple[int, int]:
        """The span without whitespace around it; only the indent that makes code code stays."""
        body = self.text[outline.start : outline.end]
        start = outline.end - len(body.lstrip())
        if outline.blocks[0].kind is Kind.CODE:
            start = min(start, outline.blocks[0].start)
        return start, outline.start + len(body.rstrip())

    def _metadata(self, outline: _Outline, start: int, end: int) -> dict[str, Any]:
        metadata: dict[str, Any] = {
            "source": self.source,
            "title": self.title,
            "heading_path": list(outline.heading_path),
            "level": outline.level,
            "start_line": self.lines.number(start),
            "end_line": self.lines.number(end - 1),
            "hash": _hash(self.title, list(outline.heading_path), self.text[start:end]),
        }
        if (page := self.lines.page(start)) is not None:
            metadata["page"] = page
        if self.front_matter:
            metadata["front_matter"] = dict(self.front_matter)
        return metadata


def _hash(*parts: object) -> str:
    """The SHA-256 of all that an embedding of the section may depend on."""
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()
