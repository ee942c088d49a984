"""Reading as LlamaIndex's components: a `BaseReader`, a `NodeParser`, and their nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.node_parser import NodeParser
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import BaseNode, Document, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.utils import get_tokenizer, get_tqdm_iterable

from readers.cutting import DEFAULT_MAX_TOKENS, SentenceCutter
from readers.files import FileLimits, find_files, read_source
from readers.formats import MARKDOWN_ONLY
from readers.levels import Section, Sentence
from readers.sections import read_sections

EMBEDDED = frozenset({"heading_path", "header"})
"""Metadata that are embedded with a node's text; `source` is shown to a language model, too."""


class MarkdownReader(BaseReader):
    """Reads Markdown into sections, as `read_sections` does, in LlamaIndex's types."""

    def lazy_load_data(
        self,
        paths: Path | str | Iterable[Path | str],
        extra_info: dict[str, Any] | None = None,
        *,
        max_bytes: int = 10_000_000,
    ) -> Iterator[Document]:
        """Yield a document per section of the Markdown files at and below `paths`.

        Metadata are the section's, `extra_info` and the offsets, with lists as one text, since many vector
        stores take no lists. Raises `ReaderError` at the first file that cannot be read.
        """
        paths = [paths] if isinstance(paths, str | Path) else paths
        found = find_files(paths, limits=FileLimits(max_bytes, max_bytes), named=MARKDOWN_ONLY)
        for problem in found.problems:
            raise problem
        for file in found.files:
            path = Path((extra_info or {}).get("file_path") or file.source)  # of `SimpleDirectoryReader`
            source = (path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path).as_posix()
            text = read_source(file.path, max_bytes=max_bytes, source=source).text
            for section in read_sections(text, source=source):
                lists = {k: " › ".join(v) for k, v in section.metadata.items() if isinstance(v, list)}
                offsets = {"start_char_idx": section.start_char_idx, "end_char_idx": section.end_char_idx}
                metadata = {**(extra_info or {}), **section.metadata, **lists, **offsets}
                hidden = _hidden(section.metadata.keys() | offsets)
                document = RelatedNodeInfo(node_id=section.document_id)
                yield Document(
                    id_=section.node_id,
                    text=section.text,
                    metadata=metadata,
                    relationships={NodeRelationship.SOURCE: document},
                    **hidden,
                )


class PunktSentenceParser(NodeParser):
    """Cuts nodes into leaves, as `SentenceCutter` does, and gives the nodes CHILD relationships to them."""

    count_tokens: Callable[[str], int] = Field(
        default_factory=lambda: lambda text: len(get_tokenizer()(text)),
        exclude=True,
        description="Counts a text's tokens, special ones left out, best as the embedding model does.",
    )
    max_tokens: int = Field(default=DEFAULT_MAX_TOKENS, ge=1, description="The most tokens in a leaf.")

    @classmethod
    def class_name(cls) -> str:
        """The name that LlamaIndex serialises."""
        return "PunktSentenceParser"

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any
    ) -> list[BaseNode]:
        cutter = SentenceCutter(self.count_tokens, max_tokens=self.max_tokens)
        every = get_tqdm_iterable(nodes, show_progress, "Cutting sentences")
        return [leaf for node in every for leaf in leaf_nodes(node, cutter.cut(section_of(node)))]

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], *_: Any) -> list[BaseNode]:
        """The nodes as they are: the base class would look for their offsets anew, by their text."""
        return nodes


def section_of(node: BaseNode) -> Section:
    """Return a node as a section that can be cut; without offsets of its own it starts at 0."""
    text = node.get_content()
    start = getattr(node, "start_char_idx", None) or node.metadata.get("start_char_idx") or 0
    document = node.source_node.node_id if node.source_node else ""
    return Section(node.node_id, text, node.metadata, start, start + len(text), document)


def leaf_nodes(parent: BaseNode, sentences: Sequence[Sentence]) -> list[TextNode]:
    """Return a node per sentence of `parent`, in order, and set the parent's CHILD relationships."""
    above: dict[NodeRelationship, Any] = {
        NodeRelationship.PARENT: RelatedNodeInfo(node_id=parent.node_id, node_type=parent.get_type())
    }
    if parent.source_node is not None:
        above[NodeRelationship.SOURCE] = parent.source_node
    nodes = [
        TextNode(
            id_=leaf.node_id,
            text=leaf.text,
            start_char_idx=leaf.start_char_idx,
            end_char_idx=leaf.end_char_idx,
            metadata=dict(leaf.metadata),
            relationships=dict(above),
            **_hidden(leaf.metadata),
        )
        for leaf in sentences
    ]
    if nodes:
        children = [RelatedNodeInfo(node_id=node.node_id) for node in nodes]
        parent.relationships[NodeRelationship.CHILD] = children
    return nodes


def _hidden(names: Iterable[str]) -> dict[str, list[str]]:
    """The fields of a node that keep metadata out of what is embedded and shown to a model."""
    hidden = sorted({*names} - EMBEDDED)
    return {
        "excluded_embed_metadata_keys": hidden,
        "excluded_llm_metadata_keys": [name for name in hidden if name != "source"],
    }
