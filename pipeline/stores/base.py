"""What a store must do: two protocols, and the records that cross them.

`SectionStore` is the truth (documents, sections, manifest); `SentenceIndex` finds. Types of the backend
behind them never cross this line: nodes are those of `pipeline/nodes.py`, vectors are NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from pipeline.analysis import analyse_query
from pipeline.errors import StoreError
from pipeline.nodes import Node, StoredNode
from pipeline.stores.globs import Globs

if TYPE_CHECKING:  # an ingest with nothing to do has no use for NumPy
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"  # (dimensions,), unit length
Matrix: TypeAlias = "NDArray[np.float32]"  # (rows, dimensions), unit length each
Level = Literal["section", "sentence"]
LEVELS: tuple[Level, ...] = ("section", "sentence")

SENTENCES_PER_SECTION = 2
"""How many times longer the lists of sentences are: several sentences belong to one section."""


class Hit(NamedTuple):
    """One found node: its section (itself, for a section) and its score, higher is better."""

    node_id: str
    section_id: str
    score: float


Ranking = tuple[Hit, ...]  # best first


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index was made with; all but `generation` must match before it is searched."""

    format: int
    embedding_model: str
    dimensions: int
    splitter: str
    fingerprint: str = ""  # of the model's file; "" where it is not known
    recipe: int = 0  # `pipeline.analysis.EMBEDDING_RECIPE`
    generation: int = 0


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """One indexed document, without its text."""

    id: str
    source: str
    root: str
    title: str
    hash: str
    sections: int
    sentences: int
    characters: int
    indexed_at: float


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One indexed document with its whole text, which all offsets count in, and its sections in order."""

    info: DocumentInfo
    text: str
    sections: tuple[StoredNode, ...]


@dataclass(frozen=True, slots=True)
class NewDocument:
    """One document to be written: its nodes and a vector for every node, by node id.

    `root` is the folder that it was read from (absolute) or "upload": an ingest of a folder deletes what
    vanished from that folder only. A section's hash is in `metadata["hash"]`; sentences name their section.
    """

    id: str
    source: str
    root: str
    title: str
    hash: str
    text: str
    sections: Sequence[Node]
    sentences: Sequence[Node]
    vectors: Mapping[str, Vector]

    def vector(self, node: Node) -> Vector:
        """The vector of one of its nodes; raises `StoreError` where it has none."""
        if node.node_id not in self.vectors:
            raise StoreError(
                f"Cannot store '{self.source}': node {node.node_id} has no vector.",
                "Every section and sentence must be embedded.",
            )
        return self.vectors[node.node_id]

    def sentences_by_section(self) -> dict[str, list[Node]]:
        """The sentences of every section, in order; raises `StoreError` for a sentence of none."""
        by_section: dict[str, list[Node]] = {section.node_id: [] for section in self.sections}
        for sentence in self.sentences:
            if sentence.section_id not in by_section:
                raise StoreError(
                    f"Cannot store '{self.source}': sentence {sentence.node_id} has no section in it.",
                    "Its splitter must set `section_id`.",
                )
            by_section[sentence.section_id].append(sentence)
        return by_section


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search of both levels for `top_k` sections; None leaves that way of searching out."""

    text: str | None
    vector: Vector | None
    top_k: int
    paths: Globs | None = None  # over sources; None for all
    languages: tuple[str, ...] = ("en",)  # of the index: the text is analysed in each of them

    @property
    def terms(self) -> list[str]:
        """The terms to search for: those of the text in each language, and one for it as a whole title."""
        return analyse_query(self.text, self.languages) if self.text else []


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Four rankings, best first; a way left out gives an empty one."""

    bm25_sections: Ranking
    bm25_sentences: Ranking
    dense_sections: Ranking
    dense_sentences: Ranking


class SectionStore(Protocol):
    """The truth: whole documents and their sections."""

    def documents(self) -> list[DocumentInfo]:
        """All visible documents, by source."""

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Sections by id, in one call; an id that is not stored is missing from the result."""

    def languages(self) -> Mapping[str, int]:
        """How many visible documents there are in each language, by ISO 639-1 code."""

    def manifest(self) -> Manifest | None:
        """What the index was made with; None while it is empty."""


class SentenceIndex(Protocol):
    """The leaves and their vectors, and the search over both levels."""

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search sections and sentences by BM25 and by vector."""

    def get_many(self, node_ids: Collection[str], *, sections: Collection[str] = ()) -> dict[str, StoredNode]:
        """Sentences by id, and all those of some sections, in one call.

        An id that is not stored is missing from the result.
        """

    def of_sections(self, section_ids: Collection[str]) -> dict[str, list[StoredNode]]:
        """All sentences of some sections, in reading order, in one call."""

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """Vectors of sections and sentences by id, in one call."""

    def count(self) -> int:
        """How many sentences are indexed."""

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """Those of some analysed terms that no node has; fast, as each search asks.

        A term of a document that was removed just now may still count as there.
        """

    def vocabulary(self) -> Mapping[str, int]:
        """How often each word is written in the sections and their headings, in lower case.

        Counted when it is first needed after a change: about a second for 14 MB of text.
        """


class Writing(Protocol):
    """The single writer's turn: what it is writing to, which in a rebuild nobody sees before `publish`."""

    def documents(self) -> list[DocumentInfo]:
        """The documents written so far, by source: all visible ones but in a rebuild."""

    def replace(self, document: NewDocument) -> None:
        """Write a document, replacing its former version: after a kill it is whole or as before."""

    def delete(self, source: str) -> None:
        """Remove a document from what is being written; raises `UnknownDocument`."""

    def check(self) -> None:
        """Raise `StoreError` where nothing more can be written; quick, and from any thread."""

    def publish(self) -> None:
        """Put the rebuilt index in the place of the old one, at once; nothing to do outside of a rebuild."""


class DocumentStore(Protocol):
    """A backend: both protocols over the same data, and the write that keeps them together."""

    @property
    def sections(self) -> SectionStore:
        """The truth."""

    @property
    def sentences(self) -> SentenceIndex:
        """The search."""

    def delete_document(self, source: str) -> None:
        """Remove a document with all that was made of it; raises `UnknownDocument`."""

    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> AbstractContextManager[Writing]:
        """Hold the single writer's place while documents are replaced; raises `ManifestMismatch`.

        A rebuild writes beside the old index, which stays as it is until `publish`; the next one with
        the same manifest goes on where one was broken off.
        """

    def close(self) -> None:
        """Release files and connections."""
