"""Reading as LlamaIndex's parts: `BaseReader` and `NodeParser`, and what is read as its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr
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
from readers.levels import Leaf, Section, Sentence, build_sentences
from readers.punkt import ABBREVIATIONS
from readers.sections import read_sections

DEFAULT_MAX_BYTES = 10_000_000
SECTION_KEYS = ("source", "title", "level", "start_line", "end_line", "page", "front_matter", "hash")
SENTENCE_KEYS = ("source", "title", "position", "siblings", "kind", "start_line", "end_line", "page")
HEADINGS = " › "  # between the headings of a path
SOURCE = "source"  # shown to a language model, but not embedded


class MarkdownReader(BaseReader):
    """Reads Markdown into sections, as `read_sections` does, in LlamaIndex's types."""

    def read(self, text: str, *, source: str) -> list[TextNode]:
        """A node per section of `text`, in order; `text[start_char_idx:end_char_idx]` is each one's text."""
        return [SectionNode.of(section) for section in read_sections(text, source=source)]

    def load_data(
        self,
        paths: Path | str | Iterable[Path | str],
        extra_info: dict[str, Any] | None = None,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        on_problem: Callable[[ReaderError], None] | None = None,
    ) -> list[Document]:
        """The documents of `lazy_load_data`, as `SimpleDirectoryReader` asks for them, too."""
        return list(self.lazy_load_data(paths, extra_info, max_bytes=max_bytes, on_problem=on_problem))

    def lazy_load_data(
        self,
        paths: Path | str | Iterable[Path | str],
        extra_info: dict[str, Any] | None = None,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        on_problem: Callable[[ReaderError], None] | None = None,
    ) -> Iterator[Document]:
        """A document per section of the Markdown files at and below a path, or several.

        Id and metadata are the section's, and the metadata has the offsets and `extra_info` too. All is flat:
        the headings are one text, the front matter is `front_matter_NAME`. A file is called as a `file_path`
        of `extra_info` says, as files of many folders may have one name. One that cannot be read goes to
        `on_problem`, and the others are read.

        Raises:
            ReaderError: without `on_problem`, at the first file that cannot be read.
        """
        paths = [paths] if isinstance(paths, str | Path) else paths
        known = dict(extra_info or {})
        found = find_files(paths, limits=FileLimits(max_bytes, max_bytes), named=MARKDOWN_ONLY)
        for problem in found.problems:
            _report(problem, on_problem)
        for file in found.files:
            source = _relative(str(known.get("file_path") or file.source))
            try:
                text = read_source(file.path, max_bytes=max_bytes, source=source).text
            except ReaderError as error:
                _report(error, on_problem)
            else:
                yield from (_document(section, known) for section in self.read(text, source=source))


class PunktSentenceParser(NodeParser):
    """Cuts nodes into leaves, as `SentenceCutter` does, in LlamaIndex's types.

    The nodes passed in get CHILD relationships to their leaves.
    """

    count_tokens: Callable[[str], int] = Field(
        default_factory=lambda: _count_tokens,
        exclude=True,
        description="Counts a text's tokens, special ones left out, best as the embedding model does.",
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


class SectionNode(TextNode):
    """A section that remembers what it was made from, so that its text need not be parsed again.

    What is made from it by serialising forgets that, which costs time only.
    """

    _section: Section | None = PrivateAttr(default=None)

    @classmethod
    def of(cls, section: Section) -> SectionNode:
        """The node of a section."""
        document = RelatedNodeInfo(node_id=section.document_id, node_type=ObjectType.DOCUMENT)
        node = cls(**_fields(section, SECTION_KEYS), relationships={NodeRelationship.SOURCE: document})
        node._section = section
        return node

    def remembered(self) -> Section | None:
        """What it was made from; None if the text is another one by now."""
        return self._section if self._section is not None and self._section.text == self.text else None


def section_of(node: BaseNode) -> Section:
    """A node as a section that can be cut; without offsets of its own it starts at 0."""
    text, start = node.get_content(), _offset(node)
    remembered = node.remembered() if isinstance(node, SectionNode) else None
    return Section(
        node_id=node.node_id,
        text=text,
        metadata=node.metadata,
        start_char_idx=start,
        end_char_idx=start + len(text),
        document_id=node.source_node.node_id if node.source_node else "",
        blocks=remembered.blocks if remembered and remembered.start_char_idx == start else None,
    )


def leaf_nodes(parent: BaseNode, leaves: Sequence[Leaf]) -> list[TextNode]:
    """A node per leaf of `parent`, in order, and the parent's CHILD relationships."""
    return sentence_nodes(parent, build_sentences(section_of(parent), leaves))


def sentence_nodes(
    parent: BaseNode, sentences: Sequence[Sentence], *, link_neighbours: bool = False
) -> list[TextNode]:
    """A node per sentence of `parent`, in order, and the parent's CHILD relationships."""
    nodes = [_sentence_node(sentence, parent) for sentence in sentences]
    infos = [RelatedNodeInfo(node_id=node.node_id) for node in nodes]
    if infos:
        parent.relationships[NodeRelationship.CHILD] = infos
    if link_neighbours:
        for node, before in zip(nodes[1:], infos, strict=False):
            node.relationships[NodeRelationship.PREVIOUS] = before
        for node, after in zip(nodes, infos[1:], strict=False):
            node.relationships[NodeRelationship.NEXT] = after
    return nodes


def _sentence_node(sentence: Sentence, parent: BaseNode) -> TextNode:
    relationships: dict[NodeRelationship, Any] = {
        NodeRelationship.PARENT: RelatedNodeInfo(node_id=parent.node_id, node_type=parent.get_type())
    }
    if parent.source_node is not None:
        relationships[NodeRelationship.SOURCE] = parent.source_node
    return TextNode(**_fields(sentence, SENTENCE_KEYS), relationships=relationships)


def _fields(made: Section | Sentence, not_embedded: Sequence[str]) -> dict[str, Any]:
    """What LlamaIndex's node has of a section or a sentence, but for its relationships."""
    return {
        "id_": made.node_id,
        "text": made.text,
        "start_char_idx": made.start_char_idx,
        "end_char_idx": made.end_char_idx,
        "metadata": dict(made.metadata),
        "excluded_embed_metadata_keys": list(not_embedded),
        "excluded_llm_metadata_keys": [key for key in not_embedded if key != SOURCE],
    }


def _offset(node: BaseNode) -> int:
    """Where the node's text starts in its file; 0 if it does not say."""
    offset = getattr(node, "start_char_idx", None)
    if offset is None:
        offset = node.metadata.get("start_char_idx", 0)
    return offset if isinstance(offset, int) else 0


def _count_tokens(text: str) -> int:
    """Tokens as LlamaIndex's own splitters count them."""
    return len(get_tokenizer()(text))


def _relative(path: str) -> str:
    """A path as it is seen from the working folder, with slashes."""
    whole, here = Path(path), Path.cwd()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def _document(section: TextNode, known: dict[str, Any]) -> Document:
    """A section as a document; its metadata are flat, as many vector stores take no others."""
    offsets = {"start_char_idx": section.start_char_idx, "end_char_idx": section.end_char_idx}
    own = dict(section.metadata)
    own["heading_path"] = HEADINGS.join(own["heading_path"])
    matter = {f"front_matter_{name}": value for name, value in own.pop("front_matter", {}).items()}
    return Document(
        id_=section.node_id,
        text=section.text,
        metadata={**known, **own, **matter, **offsets},
        excluded_embed_metadata_keys=[*section.excluded_embed_metadata_keys, *matter, *offsets],
        excluded_llm_metadata_keys=[*section.excluded_llm_metadata_keys, *matter, *offsets],
        relationships=section.relationships,
    )


def _report(problem: ReaderError, on_problem: Callable[[ReaderError], None] | None) -> None:
    if on_problem is None:
        raise problem
    on_problem(problem)
