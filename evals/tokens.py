"""Chunks of a number of tokens, overlapping: what sentence leaves are compared with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from llama_index.core.bridge.pydantic import Field, model_validator
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document

from readers.blocks import Block, Kind
from readers.levels import build_sentences
from readers.llamaindex import leaf_nodes, section_of
from readers.split import LINES, WORDS, Cut, TokenLimit, cut_after, divide

PARAGRAPHS = cut_after(r"(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)\s*")


class FixedTokenParser(NodeParser):
    """Cuts texts into chunks of at most `chunk_tokens` tokens, at whitespace where there is any.

    Each chunk but the first begins with up to `overlap_tokens` tokens of the one before.
    `text == source[start_char_idx:end_char_idx]`, as for sentence leaves.
    """

    cuts: ClassVar[tuple[Cut, ...]] = (WORDS,)

    count_tokens: Callable[[str], int] = Field(exclude=True, description="Counts a text's tokens.")
    chunk_tokens: int = Field(default=256, ge=1, description="The most tokens in a chunk.")
    overlap_tokens: int = Field(default=32, ge=0, description="The most tokens shared with the chunk before.")

    @model_validator(mode="after")
    def _check_overlap(self) -> FixedTokenParser:
        if self.overlap_tokens >= self.chunk_tokens:
            raise ValueError(
                f"overlap_tokens ({self.overlap_tokens}) must be less than chunk_tokens ({self.chunk_tokens})"
            )
        return self

    @classmethod
    def class_name(cls) -> str:
        """The name that LlamaIndex serialises."""
        return cls.__name__

    def _parse_nodes(
        self,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> list[BaseNode]:
        leaves: list[BaseNode] = []
        for node in nodes:
            section = section_of(node)
            leaves += leaf_nodes(node, build_sentences(section, list(self._chunks(section.text))))
        return leaves

    def _postprocess_parsed_nodes(
        self,
        nodes: list[BaseNode],
        parent_doc_map: dict[str, Document],  # noqa: ARG002
    ) -> list[BaseNode]:
        """The nodes as they are: the base class would look for their offsets anew, by their text."""
        return nodes

    def _chunks(self, text: str) -> Iterator[Block]:
        whole = TokenLimit(self.count_tokens, self.chunk_tokens)
        fresh = TokenLimit(self.count_tokens, self.chunk_tokens - self.overlap_tokens)
        words = [0, *WORDS(text)]
        # A text that fits is one chunk; else each chunk leaves room for its overlap.
        spans = [(0, len(text))] if whole.allows(text.strip()) else divide(text, limit=fresh, cuts=self.cuts)
        for start, end in spans:
            if text[start:end].strip():
                first = self._overlap_start(text, start, words, whole_end=end)
                piece = text[first:end]
                trimmed = first + len(piece) - len(piece.lstrip())
                yield Block(Kind.PROSE, trimmed, trimmed + len(piece.strip()))

    def _overlap_start(self, text: str, start: int, words: Sequence[int], *, whole_end: int) -> int:
        """The earliest word from which the overlap, and the chunk with it, is within its limit."""
        first = start
        for word in reversed(words[: bisect_left(words, start)]):
            overlap, chunk = text[word:start].strip(), text[word:whole_end].strip()
            if (
                self.count_tokens(overlap) > self.overlap_tokens
                or self.count_tokens(chunk) > self.chunk_tokens
            ):
                break
            first = word
        return first


class RecursiveTokenParser(FixedTokenParser):
    """The same, cut at paragraphs, else at lines, else behind full stops, else at whitespace."""

    cuts: ClassVar[tuple[Cut, ...]] = (PARAGRAPHS, LINES, cut_after(r"[.?!]\s+"), WORDS)
