"""Markdown text in, a section node per heading out, with exact character offsets."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document, NodeRelationship, ObjectType, RelatedNodeInfo, TextNode

from readers.blocks import Block, Heading, Kind, line_starts
from readers.commonmark import parse_blocks
from readers.errors import Problem, ReaderError
from readers.files import BOM, find_files, read_source
from readers.front_matter import Scalar, read_front_matter
from readers.ids import document_id, section_id

DEFAULT_MAX_BYTES = 10_000_000
EXCLUDED_FROM_EMBEDDING = ("source", "title", "level", "start_line", "end_line", "front_matter", "hash")
EXCLUDED_FROM_PROMPT = ("title", "level", "start_line", "end_line", "front_matter", "hash")


class SectionNode(TextNode):
    """A section that remembers its blocks, so that its text need not be parsed again.

    What is made from it by serialising forgets them, which costs time only.
    """

    _blocks: tuple[str, tuple[Block, ...]] | None = PrivateAttr(default=None)

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)

    def remember(self, blocks: Sequence[Block]) -> None:
        """Keep the blocks of the present text; their offsets count in the file."""
        self._blocks = (self.text, tuple(blocks))

    def remembered(self) -> tuple[Block, ...] | None:
        """The blocks of the present text; None if the text is another one by now."""
        if self._blocks is None or self._blocks[0] != self.text:
            return None
        return self._blocks[1]


class MarkdownReader(BaseReader):
    """Reads Markdown: CommonMark with tables, YAML or TOML front matter.

    A section is the text from a heading to the next heading of any level. Headings inside lists and
    quotes begin no section, and a heading without text of its own makes none. Text before the first
    heading is a section of level 0 with an empty heading path.
    """

    def read(self, text: str, *, source: str) -> list[TextNode]:
        """The sections of `text`, in order; `text[start_char_idx:end_char_idx]` is each one's text.

        A section's metadata are `source`, `title` (of the document), `heading_path`, `level`,
        `start_line` and `end_line` (from 1), `hash`, and `front_matter` where there is any.
        """
        matter = read_front_matter(text, source=source, start=len(BOM) if text.startswith(BOM) else 0)
        items = parse_blocks(text, start=matter.end)
        title = _title(items, matter.values, source)
        build = _SectionBuilder(text, source, title, matter.values)
        return [build(outline) for outline in _outlines(items, start=matter.end, end=len(text))]

    def lazy_load_data(
        self,
        paths: Iterable[Path | str],
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        on_problem: Callable[[Problem], None] | None = None,
    ) -> Iterator[Document]:
        """A document per section of the Markdown files at and below `paths`, for LlamaIndex.

        Id and metadata are the section's; the offsets are in the metadata too. A file that cannot be
        read goes to `on_problem`, and the others are read.

        Raises:
            ReaderError: without `on_problem`, at the first file that cannot be read.
        """
        files, problems = find_files(paths, max_bytes=max_bytes)
        for problem in problems:
            _report(problem, on_problem)
        for file in files:
            try:
                text = read_source(file.path, max_bytes=max_bytes, source=file.source).text
            except ReaderError as error:
                _report(Problem.of(error), on_problem)
            else:
                yield from map(_document, self.read(text, source=file.source))


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
    """What lies between one heading and the next, where there is text."""
    occurrences: Counter[tuple[str, ...]] = Counter({(): 1})  # the text before any heading
    parents: list[Heading] = []
    current, blocks = _Outline((), 0, 0, start, end, []), list[Block]()
    for item in items:
        if isinstance(item, Block):
            blocks.append(item)
            continue
        if blocks:
            yield _Outline(*_name(current), current.start, item.start, blocks)
        parents = [*(parent for parent in parents if parent.level < item.level), item]
        path = tuple(heading.title for heading in parents if heading.title)
        current, blocks = _Outline(path, occurrences[path], item.level, item.end, end, []), []
        occurrences[path] += 1
    if blocks:
        yield _Outline(*_name(current), current.start, end, blocks)


def _name(outline: _Outline) -> tuple[tuple[str, ...], int, int]:
    return outline.heading_path, outline.occurrence, outline.level


def _title(items: Sequence[Block | Heading], front_matter: dict[str, Scalar], source: str) -> str:
    """The first heading of level 1, else the front matter's title, else the file's name."""
    for item in items:
        if isinstance(item, Heading) and item.level == 1 and item.title:
            return item.title
    return str(front_matter.get("title", "")).strip() or PurePosixPath(source).stem


class _SectionBuilder:
    """Builds the sections of one file."""

    def __init__(self, text: str, source: str, title: str, front_matter: dict[str, Scalar]) -> None:
        self._text = text
        self._source = source
        self._title = title
        self._front_matter = front_matter
        self._line_starts = line_starts(text)
        self._document_id = document_id(source)

    def __call__(self, outline: _Outline) -> SectionNode:
        """The section node of `outline`."""
        start, end = self._trim(outline)
        text = self._text[start:end]
        document = RelatedNodeInfo(node_id=self._document_id, node_type=ObjectType.DOCUMENT)
        section = SectionNode(
            id_=section_id(self._document_id, outline.heading_path, outline.occurrence),
            text=text,
            start_char_idx=start,
            end_char_idx=end,
            metadata=self._metadata(outline, start, end),
            excluded_embed_metadata_keys=list(EXCLUDED_FROM_EMBEDDING),
            excluded_llm_metadata_keys=list(EXCLUDED_FROM_PROMPT),
            relationships={NodeRelationship.SOURCE: document},
        )
        section.remember(outline.blocks)
        return section

    def _trim(self, outline: _Outline) -> tuple[int, int]:
        """The span without whitespace around it; only the indent that makes code code stays."""
        body = self._text[outline.start : outline.end]
        start = outline.end - len(body.lstrip())
        if outline.blocks[0].kind is Kind.CODE:
            start = min(start, outline.blocks[0].start)
        return start, outline.start + len(body.rstrip())

    def _metadata(self, outline: _Outline, start: int, end: int) -> dict[str, Any]:
        metadata: dict[str, Any] = {
            "source": self._source,
            "title": self._title,
            "heading_path": list(outline.heading_path),
            "level": outline.level,
            "start_line": bisect_right(self._line_starts, start),
            "end_line": bisect_right(self._line_starts, end - 1),
            "hash": _hash(self._title, list(outline.heading_path), self._text[start:end]),
        }
        if self._front_matter:
            metadata["front_matter"] = dict(self._front_matter)
        return metadata


def _hash(*parts: object) -> str:
    """The SHA-256 of all that an embedding of the section may depend on."""
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


def _document(section: TextNode) -> Document:
    offsets = {"start_char_idx": section.start_char_idx, "end_char_idx": section.end_char_idx}
    return Document(
        id_=section.node_id,
        text=section.text,
        metadata={**section.metadata, **offsets},
        excluded_embed_metadata_keys=[*section.excluded_embed_metadata_keys, *offsets],
        excluded_llm_metadata_keys=[*section.excluded_llm_metadata_keys, *offsets],
        relationships=section.relationships,
    )


def _report(problem: Problem, on_problem: Callable[[Problem], None] | None) -> None:
    if on_problem is None:
        raise ReaderError(problem.source, reason=problem.reason, fix=problem.fix)
    on_problem(problem)
