"""What a store of documents must do: its protocols, and the records that cross them.

`SectionStore` reads documents and sections, `SentenceIndex` searches, `Writing` changes. No type of a backend
crosses this line: nodes are those of `pipeline/nodes.py`, vectors are NumPy arrays. A new backend writes the
methods of these protocols and those of `conversations.py`, `memories.py` and `keys.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
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
"""How many times longer than the lists of sections those of sentences are: a section has several."""


class Hit(NamedTuple):
    """One found node: its section (itself, for a section) and its score, higher is better."""

    node_id: str
    section_id: str
    score: float


Ranking = tuple[Hit, ...]  # best first


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index was made with; everything but `generation` must match before it is searched."""

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
class Statistics:
    """How much an index has; `languages` counts documents by ISO 639-1 code, the most frequent first."""

    documents: int = 0
    sections: int = 0
    sentences: int = 0
    languages: Mapping[str, int] = field(default_factory=dict)


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
    """One search of both levels for `top_k` sections; without a text or a vector, that list stays empty."""

    text: str | None
    vector: Vector | None
    top_k: int
    paths: Globs | None = None  # over sources; None for all
    languages: tuple[str, ...] = ("en",)  # of the index: the text is analysed in each of them

    @property
    def terms(self) -> list[str]:
        """The terms to search for: those of the text in each language, and one for the text as a title."""
        return analyse_query(self.text, self.languages) if self.text else []


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Four rankings, best first."""

    bm25_sections: Ranking
    bm25_sentences: Ranking
    dense_sections: Ranking
    dense_sentences: Ranking


class SectionStore(Protocol):
    """Whole documents and their sections."""

    def documents(self) -> list[DocumentInfo]:
        """All indexed documents, by source."""

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Sections by id, in one call; an id that is not stored is missing from the result."""

    def statistics(self) -> Statistics:
        """How much is indexed; cheap, because each search asks."""

    def manifest(self) -> Manifest | None:
        """What the index was made with; None while it is empty."""


class SentenceIndex(Protocol):
    """Sentences and vectors, and the search over both levels."""

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search sections and sentences by BM25 and by vector."""

    def get_many(self, node_ids: Collection[str], *, sections: Collection[str] = ()) -> dict[str, StoredNode]:
        """Sentences by id, and all those of some sections in reading order, in one call.

        An id that is not stored is missing from the result.
        """

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """Vectors of sections and sentences by id, in one call."""

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """The analysed terms that no section has; fast, because each search asks.

        A term of a document that was removed just now may still count as there.
        """

    def vocabulary(self) -> Mapping[str, int]:
        """How often each word is written in the sections and their headings, in lower case."""


class Writing(Protocol):
    """Changes to one index: the searched one, or in a rebuild one that nobody sees before `publish`."""

    def documents(self) -> list[DocumentInfo]:
        """The documents written so far, by source: all indexed ones except in a rebuild."""

    def replace(self, document: NewDocument) -> None:
        """Write a document in the place of its former version; after a kill, one of them is there whole."""

    def delete(self, source: str) -> None:
        """Remove a document with everything that was made of it; raises `UnknownDocument`."""

    def publish(self) -> None:
        """Put the rebuilt index in the place of the old one; does nothing outside of a rebuild."""


class DocumentStore(Protocol):
    """One backend for documents: reading, searching and writing the same data."""

    @property
    def sections(self) -> SectionStore:
        """Documents and sections."""

    @property
    def sentences(self) -> SentenceIndex:
        """Sentences and the search."""

    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> AbstractContextManager[Writing]:
        """Change documents in the block; raises `ManifestMismatch`.

        A rebuild writes beside the old index, which is searched until `publish`; the next rebuild with the
        same manifest continues one that was interrupted.
        """

    def close(self) -> None:
        """Release files and connections."""


def sentences_by_section(index: SentenceIndex, section_ids: Collection[str]) -> dict[str, list[StoredNode]]:
    """All sentences of some sections, in reading order; a section without sentences is missing."""
    found: dict[str, list[StoredNode]] = {}
    for sentence in index.get_many((), sections=section_ids).values():
        found.setdefault(sentence.section_id, []).append(sentence)
    return found
