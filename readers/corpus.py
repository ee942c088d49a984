"""Markdown files as an ingest needs them: found, read and cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from readers.errors import ReaderError
from readers.files import Source, find_files, read_source
from readers.ids import document_id

if TYPE_CHECKING:  # an ingest with nothing to do cuts nothing, and imports no Markdown parser
    from readers.cutting import SentenceCutter
    from readers.levels import Section, Sentence


class MarkdownCorpus:
    """Markdown files of at most `max_bytes`; what cuts sections is made when the first file is cut."""

    unreadable = ReaderError
    """What `find` and `read` raise."""

    def __init__(self, make_cutter: Callable[[], SentenceCutter], *, max_bytes: int) -> None:
        self._make_cutter = make_cutter
        self._max_bytes = max_bytes
        self._own_lines: dict[str, tuple[int, Sequence[int]]] = {}

    def find(self, path: Path) -> tuple[dict[str, Path], list[ReaderError]]:
        """The files at and below `path`, by their names in the index, and those that cannot be read."""
        files, problems = find_files([path], max_bytes=self._max_bytes)
        return {file.source: file.path for file in files}, problems

    def read(self, path: Path, *, source: str) -> Source:
        """The text of a file with what it includes; raises `ReaderError`.

        Which of its own lines an included one belongs to is kept until the text is cut.
        """
        content = read_source(path, max_bytes=self._max_bytes, source=source)
        if content.lines:
            self._own_lines[source] = hash(content.text), content.lines
        return content

    def document_id(self, source: str) -> str:
        """The id of the document of that name."""
        return document_id(source)

    def cut(self, text: str, *, source: str) -> tuple[list[Section], list[Sentence]]:
        """The sections of a file, and the sentences of all of them, in order."""
        from readers.sections import read_sections

        text_hash, own_lines = self._own_lines.pop(source, (0, ()))
        if text_hash != hash(text):  # a text of the index, whose file was not read this time
            own_lines = ()
        sections = read_sections(text, source=source, own_lines=own_lines)
        return sections, self._cutter.cut_all(sections)

    def warnings(self, text: str, sections: Iterable[Section]) -> list[str]:
        """Whether there are more lines, or deeper lists and quotes, than are read as Markdown."""
        from readers.commonmark import MAX_LINES, markdown_end
        from readers.rules import MAX_CONTAINERS, MAX_DEPTH

        found = []
        if markdown_end(text) < len(text):
            found.append(f"What comes after {MAX_LINES:,} lines is read as plain text: divide the file.")
        too_deep = (
            section.lines.number(block.start)
            for section in sections
            if section.lines
            for block in section.blocks or ()
            if block.too_deep
        )
        if line := next(too_deep, 0):
            found.append(
                f"Line {line:,}, and maybe others: a list or quote is read as plain text, as more than "
                f"{MAX_DEPTH} lie in one another, or the file has more than {MAX_CONTAINERS:,}."
            )
        return found

    @cached_property
    def _cutter(self) -> SentenceCutter:
        return self._make_cutter()
