"""The document reader of an ingest: finds, reads or converts files, and cuts them into sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from readers.files import FoundFiles, find_files
from readers.formats import format_of
from readers.source import IncludeBudget, Source, read_bytes, read_page

if TYPE_CHECKING:  # an ingest with nothing to do cuts nothing, and imports no Markdown parser
    from readers.converting import FileConverter
    from readers.cutting import SentenceCutter
    from readers.levels import Section, Sentence


@dataclass
class MarkdownCorpus:
    """Finds, reads and cuts files of at most `max_bytes`; converted Markdown has at most as many characters.

    In folders, only Markdown files are read, unless `all_formats`; in `whole_folder`, all supported formats.
    `language` applies to documents that state none; if it is empty, each document's language is detected.
    `make_cutter` is called for each document that is cut. `close` ends the process that converts.
    """

    make_cutter: Callable[[], SentenceCutter]
    _: KW_ONLY
    max_bytes: int
    all_formats: bool = False
    whole_folder: Path | None = None
    language: str = ""
    _budget: IncludeBudget = field(default_factory=IncludeBudget, init=False)

    def find(self, path: Path, *, known: Collection[str] = ()) -> FoundFiles:
        """Return the files at and below `path`; in folders, `known` sources may have any supported format."""
        is_whole = self.whole_folder is not None and path.resolve() == self.whole_folder.resolve()
        formats = is_whole or self.all_formats
        return find_files([path], max_bytes=self.max_bytes, all_formats=formats, known=known)

    def read(self, path: Path, *, source: str, known: str = "") -> Source | None:
        """Return a file's text with its included files, or converted to Markdown; raises `ReaderError`.

        Return None if the file needs conversion and has the hash `known`: it has not changed since.
        """
        kind = format_of(path.name)
        if kind is None or kind.is_text:
            return read_page(path, max_bytes=self.max_bytes, source=source, budget=self._budget)
        data = read_bytes(path, max_bytes=self.max_bytes, source=source)
        digest = hashlib.sha256(data + f"\0{kind.name}".encode()).hexdigest()
        return None if digest == known else Source(self._converter.text(data, kind, source=source), digest)

    def cut(self, text: str, *, source: str) -> tuple[list[Section], list[Sentence]]:
        """Return the sections of a document's text and all their sentences, both in the order of the text."""
        from readers.language import detect
        from readers.sections import read_sections

        sections = read_sections(text, source=source, language=self.language or detect(text))
        return sections, self.make_cutter().cut_all(sections)

    def close(self) -> None:
        """End the process that converts, and reset the limit of included text for the next ingest."""
        self._budget = IncludeBudget()
        if "_converter" in self.__dict__:
            self._converter.close()

    @cached_property
    def _converter(self) -> FileConverter:
        from readers.converting import FileConverter

        return FileConverter(self.max_bytes)
