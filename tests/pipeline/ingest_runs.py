"""A real ingest with real readers and a real store, but for the encoder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.analysis import EMBEDDING_RECIPE
from pipeline.ingest import IngestReport, Progress, ingest
from pipeline.stores.base import DocumentStore, Manifest, SearchRequest, sentences_by_section
from readers.corpus import MarkdownCorpus
from tests.fakes import FakeEncoder

if TYPE_CHECKING:
    from readers.cutting import SentenceCutter


def manifest_of(encoder: FakeEncoder) -> Manifest:
    return Manifest(1, encoder.name, encoder.dimensions, "punkt", encoder.fingerprint, EMBEDDING_RECIPE)


def run_ingest(
    store: DocumentStore,
    *paths: Path,
    encoder: FakeEncoder | None = None,
    rebuild: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    max_bytes: int = 1_000_000,
    manifest: Manifest | None = None,
) -> IngestReport:
    encoder = encoder or FakeEncoder()

    def make_cutter() -> SentenceCutter:
        from readers.cutting import SentenceCutter

        return SentenceCutter(encoder.count_tokens)

    with closing(MarkdownCorpus(make_cutter, max_bytes=max_bytes)) as reader:
        return ingest(
            paths,
            store=store,
            reader=reader,
            encoder=encoder,
            manifest=manifest or manifest_of(encoder),
            rebuild=rebuild,
            on_progress=on_progress,
            should_stop=should_stop,
        )


def contents(store: DocumentStore) -> dict[str, object]:
    """All that a reader can see, but for times and internal numbers; asked for at once."""
    documents = [store.document(info.source) for info in store.documents()]
    ids = [section.node_id for document in documents for section in document.sections]
    leaves = sentences_by_section(store, ids)
    vectors = store.vectors([*ids, *(node.node_id for group in leaves.values() for node in group)])
    found: dict[str, object] = {}
    for document in documents:
        info = document.info
        sentences = [node for section in document.sections for node in leaves.get(section.node_id, [])]
        assert (len(document.sections), len(sentences)) == (info.sections, info.sentences)
        nodes = [*document.sections, *sentences]
        found[info.source] = (
            info.id, info.root, info.title, info.hash, document.text,
            [(node.node_id, node.text, node.metadata, vectors[node.node_id].tobytes()) for node in nodes],
        )  # fmt: skip
    return found


def findings(store: DocumentStore, encoder: FakeEncoder, questions: list[str]) -> list[object]:
    """The nodes that some questions find, with their cosines, in an order that no history changes.

    BM25 counts documents that were deleted until their files are merged: its scores depend on the history.
    """
    found: list[object] = []
    for question in questions:
        response = store.search(SearchRequest(question, encoder.encode_query(question), 10_000))
        words = (response.bm25_sections, response.bm25_sentences)
        dense = (response.dense_sections, response.dense_sentences)
        found.append([sorted((hit.node_id, hit.section_id) for hit in hits) for hits in words])
        found.append(
            [sorted((hit.node_id, hit.section_id, round(hit.score, 4)) for hit in hits) for hits in dense]
        )
    return found
