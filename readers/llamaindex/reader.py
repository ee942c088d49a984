"""The Markdown reader as LlamaIndex's `BaseReader`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document, TextNode

from readers.errors import ReaderError
from readers.files import FileLimits, find_files, read_source
from readers.formats import MARKDOWN_ONLY
from readers.llamaindex.nodes import SectionNode
from readers.sections import read_sections

DEFAULT_MAX_BYTES = 10_000_000


class MarkdownReader(BaseReader):
    """Reads Markdown into sections, as `read_sections` does, in LlamaIndex's types."""

    def read(self, text: str, *, source: str) -> list[TextNode]:
        """A node per section of `text`, in order; `text[start_char_idx:end_char_idx]` is each one's text."""
        return [SectionNode.of(section) for section in read_sections(text, source=source)]

    def lazy_load_data(
        self,
        paths: Iterable[Path | str],
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        on_problem: Callable[[ReaderError], None] | None = None,
    ) -> Iterator[Document]:
        """A document per section of the Markdown files at and below `paths`.

        Id and metadata are the section's; the offsets are in the metadata too. A file that cannot be
        read goes to `on_problem`, and the others are read.

        Raises:
            ReaderError: without `on_problem`, at the first file that cannot be read.
        """
        found = find_files(paths, limits=FileLimits(max_bytes, max_bytes), named=MARKDOWN_ONLY)
        for problem in found.problems:
            _report(problem, on_problem)
        for file in found.files:
            try:
                text = read_source(file.path, max_bytes=max_bytes, source=file.source).text
            except ReaderError as error:
                _report(error, on_problem)
            else:
                yield from map(_document, self.read(text, source=file.source))


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


def _report(problem: ReaderError, on_problem: Callable[[ReaderError], None] | None) -> None:
    if on_problem is None:
        raise problem
    on_problem(problem)
