"""Chunks of a given size in tokens by LlamaIndex's splitters; experiments compare them with sections.

A chunk is stored as a section without headings whose only sentence is its whole text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from llama_index.core.node_parser import NodeParser, SentenceSplitter, TokenTextSplitter
from llama_index.core.node_parser.text.utils import split_by_regex
from llama_index.core.schema import Document

from athena.reading import make_cutter
from readers.corpus import MarkdownCorpus
from readers.levels import Block, Kind, Section, Sentence, build_sentences, document_id, section_id

if TYPE_CHECKING:
    from pipeline.models.base import Encoder

SECTIONS = "sentences"
"""The name of Athena's own splitter: sections with their sentences."""


class ChunkCorpus(MarkdownCorpus):
    """Reads files and cuts them into chunks instead of sections and sentences."""

    def __init__(self, splitter: str, encoder: Encoder, *, max_bytes: int) -> None:
        super().__init__(partial(make_cutter, encoder), max_bytes=max_bytes)
        self._parser = _parser(splitter, encoder)

    def cut(self, text: str, *, source: str) -> tuple[list[Section], list[Sentence]]:
        """Return a section for each chunk, and for each a sentence with the same text."""
        nodes = self._parser.get_nodes_from_documents([Document(text=text)])
        chunks = []
        for number, node in enumerate(nodes):
            start = int(getattr(node, "start_char_idx", None) or 0)
            place: Any = {"number": number, "start": start, "line": text.count("\n", 0, start) + 1}
            chunks.append(make_section(node.get_content(), source=source, title=source, **place))
        leaves = [build_sentences(one, [Block(Kind.PROSE, 0, len(one.text))]) for one in chunks]
        return chunks, [leaf for group in leaves for leaf in group]


def _parser(splitter: str, encoder: Encoder) -> NodeParser:
    """Return a splitter of LlamaIndex by its name: a kind, the chunk size and the overlap, in tokens.

    "fixed 256/50" cuts by tokens, "recursive 512/50" by paragraphs, then sentences, then tokens.
    """
    kind, _, sizes = splitter.partition(" ")
    chunk, overlap = map(int, sizes.split("/"))

    def tokens(text: str) -> list[int]:
        return [0] * encoder.count_tokens(text)

    if kind == "fixed":
        return TokenTextSplitter(chunk_size=chunk, chunk_overlap=overlap, tokenizer=tokens)
    return SentenceSplitter(
        chunk_size=chunk,
        chunk_overlap=overlap,
        tokenizer=tokens,
        chunking_tokenizer_fn=split_by_regex(r"[^.?!]+[.?!]*\s*|[.?!]+\s*"),
    )


def make_section(
    text: str,
    *,
    source: str,
    title: str,
    path: Sequence[str] = (),
    number: int = 0,
    start: int = 0,
    line: int = 1,
) -> Section:
    """Return a section: the `number`-th (from 0) under `path`, at offset `start` and line `line`."""
    metadata = {"source": source, "title": title, "heading_path": list(path), "level": 1, "start_line": line}
    metadata["end_line"] = line + text.count("\n")
    metadata["hash"] = hashlib.sha256("\n".join([*path, text]).encode()).hexdigest()
    owner = document_id(source)
    node_id = section_id(owner, path, number)
    return Section(node_id, text, metadata, start, start + len(text), owner)
