"""Sections in, sentence leaves out: sentences, list items, table rows and code, with exact offsets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document
from llama_index.core.utils import get_tqdm_iterable

from readers.blocks import Block, Heading, Kind, blank_gaps
from readers.commonmark import parse_blocks
from readers.leaves import Leaf, build_leaves, offset_of
from readers.markdown import SectionNode
from readers.punkt import ABBREVIATIONS, SentenceSplitter
from readers.split import CELLS, CLAUSES, LINES, WORDS, Cut, Span, TokenLimit, divide

DEFAULT_MAX_TOKENS = 254
"""MiniLM's 256, less its two special tokens."""


class PunktSentenceParser(NodeParser):
    """Cuts sections into leaves; `text == source[start_char_idx:end_char_idx]` for each.

    A sentence of a paragraph, a paragraph of a list item, a table row and the inside of a code or HTML
    block are leaves; what has more than `max_tokens` tokens is divided. All text is in exactly one
    leaf but for markup between them: bullets, fences, rules, quote marks and link definitions.
    An ordered item's number is part of its leaf. A table's header row is a leaf, and in the metadata
    (`header`) of the rows below it.

    Other metadata: `source`, `title`, `heading_path` (the section's), `position` (from 0), `siblings`
    (how many leaves the section has), `kind`, `start_line`, `end_line`.
    The sections passed in get CHILD relationships to their leaves.
    """

    count_tokens: Callable[[str], int] = Field(
        exclude=True,
        description="Counts a text's tokens, special ones left out, as the embedding model does.",
    )
    max_tokens: int = Field(default=DEFAULT_MAX_TOKENS, ge=1, description="The most tokens in a leaf.")
    abbreviations: frozenset[str] = Field(
        default=ABBREVIATIONS, description="Words whose full stop ends no sentence by itself."
    )
    include_prev_next_rel: bool = Field(default=False, description="Link each leaf to its neighbours.")

    @classmethod
    def class_name(cls) -> str:
        """The name that LlamaIndex serialises."""
        return "PunktSentenceParser"

    def _parse_nodes(
        self,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,
        **kwargs: Any,  # noqa: ARG002
    ) -> list[BaseNode]:
        limit = TokenLimit(self.count_tokens, self.max_tokens)
        cutter = _Cutter(_splitter(self.abbreviations), limit)
        leaves: list[BaseNode] = []
        for node in get_tqdm_iterable(nodes, show_progress, "Cutting sentences"):
            leaves += build_leaves(node, list(cutter(node)), link_neighbours=self.include_prev_next_rel)
        return leaves

    def _postprocess_parsed_nodes(
        self,
        nodes: list[BaseNode],
        parent_doc_map: dict[str, Document],  # noqa: ARG002
    ) -> list[BaseNode]:
        """The nodes as they are: the base class would look for their offsets anew, by their text."""
        return nodes


class _Cutter:
    """Cuts one section after the other."""

    def __init__(self, splitter: SentenceSplitter, limit: TokenLimit) -> None:
        self._splitter = splitter
        self._limit = limit
        text_cuts = (splitter.ends, CLAUSES, WORDS)
        self._cuts: dict[Kind, tuple[Cut, ...]] = {
            Kind.PROSE: (CLAUSES, WORDS),
            Kind.LIST_ITEM: text_cuts,
            Kind.TABLE_ROW: (CELLS, *text_cuts),
            Kind.CODE: (LINES, CLAUSES, WORDS),
            Kind.HTML: (LINES, *text_cuts),
        }

    def __call__(self, node: BaseNode) -> Iterator[Leaf]:
        """The leaves of the section `node`, with offsets in its own text."""
        text = node.get_content()
        for block in _blocks(node, text):
            inside = blank_gaps(text, block)
            start = 0
            for end in self._splitter.ends(inside) if block.kind is Kind.PROSE else (len(inside),):
                yield from self._leaves(block, text, inside, (start, end))
                start = end

    def _leaves(self, block: Block, text: str, inside: str, span: Span) -> Iterator[Leaf]:
        """The leaves of a span of the block, without whitespace around them.

        `inside` is the block's text with blanks for what belongs to an enclosing quote.
        """
        offset = block.start + span[0]
        masked = inside[slice(*span)]
        unit = text[offset : block.start + span[1]]
        for first, last in divide(unit, limit=self._limit, cuts=self._cuts[block.kind], masked=masked):
            piece = masked[first:last]
            first += len(piece) - len(piece.lstrip())
            last = first + len(piece.strip())
            if first < last:
                yield Leaf(block.kind, offset + first, offset + last, block.header)


def _blocks(node: BaseNode, text: str) -> Iterator[Block]:
    """The blocks of a node, by offsets in its text: remembered from the file's parse, or parsed now."""
    remembered = node.remembered() if isinstance(node, SectionNode) else None
    if remembered is not None:
        offset = offset_of(node)
        yield from (_moved(block, -offset, limit=len(text)) for block in remembered)
        return
    for item in parse_blocks(text):
        # A heading in a node that is no section of ours: its words must not be lost.
        yield Block(Kind.PROSE, item.start, item.end) if isinstance(item, Heading) else item


def _moved(block: Block, by: int, *, limit: int) -> Block:
    """The block moved; cut where the section is trimmed of what Python calls whitespace, Markdown not."""
    gaps = tuple((start + by, end + by) for start, end in block.gaps)
    return Block(block.kind, max(0, block.start + by), min(limit, block.end + by), block.header, gaps)


@functools.cache
def _splitter(abbreviations: frozenset[str]) -> SentenceSplitter:
    return SentenceSplitter(abbreviations)
