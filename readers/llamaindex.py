"""Reading as LlamaIndex's components: a `BaseReader`, a `NodeParser`, and their nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.node_parser import NodeParser
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import (
    BaseNode,
    Document,
    NodeRelationship,
    ObjectType,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.utils import get_tokenizer, get_tqdm_iterable

from readers.cutting import DEFAULT_MAX_TOKENS, SentenceCutter
from readers.errors import ReaderError
from readers.files import FileLimits, find_files, read_source
from readers.formats import MARKDOWN_ONLY
from readers.levels import Section, Sentence
from readers.sections import read_sections

DEFAULT_MAX_BYTES = 10_000_000
EMBEDDED = frozenset({"heading_path", "header"})
"""Metadata that are embedded with a node's text; `source` is shown to a language model, too."""
HEADINGS = " › "  # between the headings of a path


def _raise(problem: ReaderError) -> None:
    raise problem


class MarkdownReader(BaseReader):
    """Reads Markdown into sections, as `read_sections` does, in LlamaIndex's types."""

    def lazy_load_data(
        self,
        paths: Path | str | Iterable[Path | str],
        extra_info: dict[str, Any] | None = None,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        on_problem: Callable[[ReaderError], None] = _raise,
    ) -> Iterator[Document]:
        """Yield a document per section of the Markdown files at and below `paths`.

        Its id and metadata are the section's, with the offsets and `extra_info`; all is flat, as many vector
        stores need: the headings are one text, the front matter is `front_matter_NAME`. `file_path` of
        `extra_info` is the file's name. A file that cannot be read goes to `on_problem`.

        Raises:
            ReaderError: without `on_problem`, at the first file that cannot be read.
        """
        known = dict(extra_info or {})
        paths = [paths] if isinstance(paths, str | Path) else paths
        found = find_files(paths, limits=FileLimits(max_bytes, max_bytes), named=MARKDOWN_ONLY)
        for problem in found.problems:
            on_problem(problem)
        for file in found.files:
            path = Path(known.get("file_path") or file.source)
            source = (path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path).as_posix()
            try:
                text = read_source(file.path, max_bytes=max_bytes, source=source).text
            except ReaderError as error:
                on_problem(error)
            else:
                yield from (_document(section, known) for section in read_sections(text, source=source))

    def load_data(self, *args: Any, **options: Any) -> list[Document]:
        """The documents of `lazy_load_data`, as `SimpleDirectoryReader` asks for them, too."""
        return list(self.lazy_load_data(*args, **options))


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
        leaves: list[BaseNode] = []
        for node in get_tqdm_iterable(nodes, show_progress, "Cutting sentences"):
            leaves += leaf_nodes(node, cutter.cut(section_of(node)))
        return leaves

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], *_: Any) -> list[BaseNode]:
        """The nodes as they are: the base class would look for their offsets anew, by their text."""
        return nodes


def section_of(node: BaseNode) -> Section:
    """A node as a section that can be cut; without offsets of its own it starts at 0."""
    text = node.get_content()
    start = getattr(node, "start_char_idx", None) or node.metadata.get("start_char_idx") or 0
    document = node.source_node.node_id if node.source_node else ""
    return Section(node.node_id, text, node.metadata, start, start + len(text), document)


def leaf_nodes(parent: BaseNode, sentences: Sequence[Sentence]) -> list[TextNode]:
    """A node per sentence of `parent`, in order, and the parent's CHILD relationships."""
    above = RelatedNodeInfo(node_id=parent.node_id, node_type=parent.get_type())
    relationships: dict[NodeRelationship, Any] = {NodeRelationship.PARENT: above}
    if parent.source_node is not None:
        relationships[NodeRelationship.SOURCE] = parent.source_node
    nodes = [TextNode(**_fields(sentence), relationships=dict(relationships)) for sentence in sentences]
    if nodes:
        children = [RelatedNodeInfo(node_id=node.node_id) for node in nodes]
        parent.relationships[NodeRelationship.CHILD] = children
    return nodes


def section_node(section: Section) -> TextNode:
    """The node of a section, whose source is its document."""
    return TextNode(**_fields(section), relationships=_source(section))


def _document(section: Section, known: dict[str, Any]) -> Document:
    """A section as a document with flat metadata."""
    fields = _fields(section)
    offsets = {key: fields.pop(key) for key in ("start_char_idx", "end_char_idx")}
    own = fields["metadata"]
    matter = {f"front_matter_{name}": value for name, value in own.pop("front_matter", {}).items()}
    own |= {"heading_path": HEADINGS.join(own["heading_path"])}
    own |= {"aliases": " ".join(own["aliases"])} if "aliases" in own else {}
    for key in ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys"):
        fields[key] += [*matter, *offsets]
    fields["metadata"] = {**known, **own, **matter, **offsets}
    return Document(**fields, relationships=_source(section))


def _source(section: Section) -> dict[NodeRelationship, Any]:
    document = RelatedNodeInfo(node_id=section.document_id, node_type=ObjectType.DOCUMENT)
    return {NodeRelationship.SOURCE: document}


def _fields(made: Section | Sentence) -> dict[str, Any]:
    """The fields of LlamaIndex's node, but for its relationships."""
    hidden = sorted(made.metadata.keys() - EMBEDDED)
    return {
        "id_": made.node_id,
        "text": made.text,
        "start_char_idx": made.start_char_idx,
        "end_char_idx": made.end_char_idx,
        "metadata": dict(made.metadata),
        "excluded_embed_metadata_keys": hidden,
        "excluded_llm_metadata_keys": [key for key in hidden if key != "source"],
    }
