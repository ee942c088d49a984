"""LlamaIndex components: a `BaseReader` for Markdown, and a `NodeParser` that cuts nodes into sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.node_parser import NodeParser
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import BaseNode, Document, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.utils import get_tokenizer

from readers.cutting import DEFAULT_MAX_TOKENS, SentenceCutter
from readers.files import find_files
from readers.levels import Section, Sentence
from readers.sections import read_sections
from readers.source import read_page

SHOWN = frozenset({"source", "heading_path", "header"})
"""Metadata that language models see; all of it except `source` is embedded, too."""


class MarkdownReader(BaseReader):
    """Reads Markdown files and returns their sections, cut as by `read_sections`, as LlamaIndex documents."""

    def lazy_load_data(
        self,
        paths: Path | str | Iterable[Path | str],
        extra_info: dict[str, Any] | None = None,
        *,
        max_bytes: int = 10_000_000,
    ) -> Iterator[Document]:
        """Yield a document for each section of the Markdown files at and below `paths`.

        Its metadata are the section's, `extra_info` and the offsets; lists are joined by " › ", since many
        vector stores take no lists. Raises `ReaderError` at the first file that cannot be found or read.
        """
        paths, extra = [paths] if isinstance(paths, str | Path) else paths, extra_info or {}
        found = find_files(paths, max_bytes=max_bytes)
        for problem in found.problems:
            raise problem
        for file in found.files:
            path = Path(extra.get("file_path") or file.source)  # `SimpleDirectoryReader` sets `file_path`
            source = (path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path).as_posix()
            text = read_page(file.path, max_bytes=max_bytes, source=source).text
            for section in read_sections(text, source=source):
                own = {k: " › ".join(v) if isinstance(v, list) else v for k, v in section.metadata.items()}
                own |= {"start_char_idx": section.start_char_idx, "end_char_idx": section.end_char_idx}
                fields = _fields(section, own, {NodeRelationship.SOURCE: section.document_id})
                yield Document(**{**fields, "metadata": {**extra, **own}})


class PunktSentenceParser(NodeParser):
    """Cuts nodes into leaves, as `SentenceCutter` does; adds CHILD relationships to the nodes in place."""

    max_tokens: int = Field(
        default=DEFAULT_MAX_TOKENS, ge=1, description="Most tokens in a leaf, by LlamaIndex's tokenizer."
    )

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex writes when it serialises the parser."""
        return "PunktSentenceParser"

    def _parse_nodes(self, nodes: Sequence[BaseNode], *_: Any, **__: Any) -> list[BaseNode]:
        cutter = SentenceCutter(lambda text: len(get_tokenizer()(text)), max_tokens=self.max_tokens)
        leaves: list[BaseNode] = []
        for node in nodes:
            text, document = node.get_content(), node.source_node.node_id if node.source_node else ""
            start = getattr(node, "start_char_idx", None) or node.metadata.get("start_char_idx") or 0
            section = Section(node.node_id, text, node.metadata, start, start + len(text), document)
            above = {NodeRelationship.PARENT: node.node_id, NodeRelationship.SOURCE: document}
            own = [TextNode(**_fields(leaf, leaf.metadata, above)) for leaf in cutter.cut(section)]
            node.relationships[NodeRelationship.CHILD] = [leaf.as_related_node_info() for leaf in own]
            leaves += own
        return leaves

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], *_: Any) -> list[BaseNode]:
        """Return the nodes unchanged: the base class would search for their offsets again, by their text."""
        return nodes


def _fields(node: Section | Sentence, metadata: Any, above: dict[NodeRelationship, str]) -> dict[str, Any]:
    """Return the fields of a LlamaIndex node, with all metadata except `SHOWN` hidden from models."""
    return {
        "id_": node.node_id,
        "text": node.text,
        "metadata": dict(metadata),
        "start_char_idx": node.start_char_idx,
        "end_char_idx": node.end_char_idx,
        "excluded_embed_metadata_keys": sorted(metadata.keys() - (SHOWN - {"source"})),
        "excluded_llm_metadata_keys": sorted(metadata.keys() - SHOWN),
        "relationships": {kind: RelatedNodeInfo(node_id=id_) for kind, id_ in above.items() if id_},
    }
