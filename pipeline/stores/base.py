"""The protocols of a store, and the records that cross them.

A new backend writes 16 methods: 12 of `DocumentStore` and `Writing`, and 4 of `Rows` (`rows.py`). No type of
a backend crosses this line: nodes are those of `pipeline/nodes.py`, vectors are NumPy arrays.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from pipeline.analysis import analyse_query
from pipeline.errors import ManifestMismatch
from pipeline.nodes import Node, StoredNode
from pipeline.stores.globs import Globs

if TYPE_CHECKING:  # an ingest with nothing to do has no use for NumPy
    import numpy as np
    from numpy.typing import NDArray

    from pipeline.stores.conversations import Conversations
    from pipeline.stores.memories import Memories
    from pipeline.stores.rows import Rows

Vector: TypeAlias = "NDArray[np.float32]"  # (dimensions,), unit length
Level = Literal["section", "sentence"]
LEVELS: tuple[Level, ...] = ("section", "sentence")


class Hit(NamedTuple):
    """One found node: its section (itself, for a section) and its score, higher is better."""

    node_id: str
    section_id: str
    score: float


Ranking = tuple[Hit, ...]  # best first


@dataclass(frozen=True, slots=True)
class Manifest:
    """How an index was made; it can be searched only if every field matches the program's manifest."""

    format: int
    embedding_model: str
    dimensions: int
    splitter: str
    fingerprint: str = ""  # of the model's file; "" if it is not known
    recipe: int = 0  # `pipeline.analysis.EMBEDDING_RECIPE`


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
    indexed_at: float  # seconds since the epoch; 0 while a rebuild has not reached it


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of an index; `languages` counts documents by ISO 639-1 code, the most frequent first.

    `manifest` is None while the index has no document.
    """

    sentences: int = 0
    languages: Mapping[str, int] = field(default_factory=dict)
    manifest: Manifest | None = None


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One indexed document with its sections, in order, and its whole text, to which all offsets refer."""

    info: DocumentInfo
    text: str
    sections: tuple[StoredNode, ...]


@dataclass(frozen=True, slots=True)
class NewDocument:
    """One document to be written: its nodes and a vector for every node, by node id.

    `root` is the absolute path of the folder that it was read from, or "upload": an ingest of a folder only
    deletes documents of that root. A section has a `metadata["hash"]`; a sentence has its section's id.
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

    @property
    def info(self) -> DocumentInfo:
        """The document without its text; `indexed_at` is the current time."""
        counts = len(self.sections), len(self.sentences), len(self.text)
        return DocumentInfo(self.id, self.source, self.root, self.title, self.hash, *counts, time.time())

    @property
    def language(self) -> str:
        """The ISO 639-1 code of the first section's language; "en" without sections."""
        return str(self.sections[0].metadata.get("language", "en")) if self.sections else "en"

    def sentences_by_section(self) -> dict[str, list[Node]]:
        """Return the sentences of every section, in order, by section id."""
        by_section: dict[str, list[Node]] = {section.node_id: [] for section in self.sections}
        for sentence in self.sentences:
            by_section[sentence.section_id].append(sentence)
        return by_section


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search of both levels for `top_k` sections.

    Without a text, both lists by BM25 stay empty; without a vector, both dense lists.
    """

    text: str | None
    vector: Vector | None
    top_k: int
    paths: Globs | None = None  # of the sources to search; None for all
    languages: tuple[str, ...] = ("en",)  # of the index: the text is analysed in each of them

    @property
    def terms(self) -> list[str]:
        """The terms of the text in each language, and one for the text as a title; [] without a text."""
        return analyse_query(self.text, self.languages) if self.text else []

    @property
    def limits(self) -> dict[Level, int]:
        """The most hits of a list, by level: twice as many sentences, as a section has several."""
        return {"section": self.top_k, "sentence": 2 * self.top_k}


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Four rankings, best first."""

    bm25_sections: Ranking
    bm25_sentences: Ranking
    dense_sections: Ranking
    dense_sentences: Ranking


class Writing(Protocol):
    """Changes documents."""

    def replace(self, *documents: NewDocument) -> None:
        """Add or replace documents; if the process is killed, each is complete, in its old or new version."""

    def delete(self, source: str) -> None:
        """Delete a document with its nodes; raises `UnknownDocument`."""


class DocumentStore(Protocol):
    """Reads, searches and writes the documents of one store."""

    def documents(self) -> list[DocumentInfo]:
        """Return all indexed documents, sorted by source."""

    def document(self, source: str) -> StoredDocument:
        """Return one document with its text and sections; raises `UnknownDocument`."""

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Return sections and sentences by id, in the order of the ids; those not stored are missing."""

    def statistics(self) -> Statistics:
        """Return the counts of the index and its manifest; fast, because each search calls it."""

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search both levels by BM25 and by vector; raises `ManifestMismatch`."""

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """Return the vectors of sections and sentences by id; ids that are not stored are missing."""

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """Return the terms, of these analysed ones, that no section has; fast, because each search calls it.

        A term that only a just deleted document had may be missing in the result.
        """

    def vocabulary(self, initial: str) -> Set[str]:
        """Return the words of all sections, in lower case, that begin with the letter `initial`.

        Words of deleted documents may still be among them.
        """

    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> AbstractContextManager[Writing]:
        """Change documents in the block; raises `ManifestMismatch`.

        A rebuild first deletes all nodes and vectors, but keeps the documents' texts. Until this or a later
        ingest writes a document again, its `indexed_at` is 0, and no search finds it.
        """

    def close(self) -> None:
        """Release files and connections."""


class Store(DocumentStore, Protocol):
    """Everything that one store keeps; conversations, memories and API keys are stored as `rows`."""

    conversations: Conversations
    memories: Memories
    rows: Rows


def sentences_by_section(store: DocumentStore, section_ids: Collection[str]) -> dict[str, list[StoredNode]]:
    """Return all sentences of sections, in reading order, by section id; unknown sections are missing."""
    sections = store.get_many(section_ids)
    found = store.get_many([id_ for section in sections.values() for id_ in section.sentence_ids])
    return {
        known: [found[id_] for id_ in section.sentence_ids if id_ in found]
        for known, section in sections.items()
    }


# -- stored metadata: a sentence's lacks what its section's has, so that long headings are not repeated -----


def own_metadata(metadata: Mapping[str, Any], above: Mapping[str, Any]) -> str:
    """Return the metadata that differ from the section's, as JSON; null where only the section has a key."""
    own = {key: value for key, value in metadata.items() if key not in above or above[key] != value}
    return json.dumps(own | dict.fromkeys(above.keys() - metadata.keys()), ensure_ascii=False, default=str)


def whole_metadata(own: str, above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a node from the JSON of `own_metadata` and its section's metadata."""
    return {key: value for key, value in {**above, **json.loads(own)}.items() if value is not None}


# -- what an index was made with ------------------------------------------------------------------------

FORMAT = 10
"""Increase it if the same files would make other documents or ids. For changes of the embedding, increase
`pipeline.analysis.EMBEDDING_RECIPE` instead."""


def check_manifest(stored: Manifest, wanted: Manifest) -> None:
    """Raise `ManifestMismatch` if the manifest of an index is not the `wanted` one."""
    if stored.embedding_model != wanted.embedding_model:
        raise ManifestMismatch(
            f"The index was made with {stored.embedding_model}, and now {wanted.embedding_model} is chosen.",
            "Rebuild it with `athena ingest --rebuild`, or choose the former embedding model.",
        )
    if stored != wanted:
        raise ManifestMismatch(
            "The index is outdated: another version of Athena or its model made it.",
            "Embed it again: `athena ingest FOLDER`, or “Look for changes” on the Documents page.",
        )


def is_outdated(stored: Manifest | None, wanted: Manifest) -> bool:
    """Return whether an index was made differently than now, but with the chosen embedding model.

    The next ingest rebuilds an outdated index. Another model may be a mistake: only `rebuild` accepts it.
    """
    return stored is not None and stored != wanted and stored.embedding_model == wanted.embedding_model


_WORD = re.compile(r"[^\W_]+")


def words_of(texts: Iterable[str]) -> set[str]:
    """Return the words without digits, in lower case; 10 MB of text take half a second."""
    return {word for text in texts for word in _WORD.findall(text.lower()) if word.isalpha()}
