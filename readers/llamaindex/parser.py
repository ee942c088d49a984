"""Sentence leaves as LlamaIndex's `NodeParser` makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, Document
from llama_index.core.utils import get_tqdm_iterable

from readers.cutting import DEFAULT_MAX_TOKENS, SentenceCutter
from readers.llamaindex.nodes import section_of, sentence_nodes
from readers.punkt import ABBREVIATIONS


class PunktSentenceParser(NodeParser):
    """Cuts nodes into leaves, as `SentenceCutter` does, in LlamaIndex's types.

    The nodes passed in get CHILD relationships to their leaves.
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
        cutter = SentenceCutter(
            self.count_tokens, max_tokens=self.max_tokens, abbreviations=self.abbreviations
        )
        leaves: list[BaseNode] = []
        for node in get_tqdm_iterable(nodes, show_progress, "Cutting sentences"):
            leaves += sentence_nodes(
                node, cutter.cut(section_of(node)), link_neighbours=self.include_prev_next_rel
            )
        return leaves

    def _postprocess_parsed_nodes(
        self,
        nodes: list[BaseNode],
        parent_doc_map: dict[str, Document],  # noqa: ARG002
    ) -> list[BaseNode]:
        """The nodes as they are: the base class would look for their offsets anew, by their text."""
        return nodes
