"""What nodes share is stored once, and comes back with each of them; on every backend."""

from __future__ import annotations

import numpy as np

from pipeline.stores.base import DocumentStore, NewDocument, sentences_by_section
from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from readers.levels import document_id
from tests.contracts.conftest import OpenStore
from tests.contracts.documents import MANIFEST
from tests.readers.oracle import count_words

LONG = "overpressure " * 20
TEXT = (
    f"---\ntitle: Tanks\ndescription: {'note ' * 50}\n---\n\n"
    + "".join(f"{'#' * level} {level} {LONG}\n\n" for level in range(1, 7))
    + "| head |\n|---|\n| row |\n\n"
    + "".join(f"p{number}\n\n" for number in range(40))
    + "## Second\n\nText.\n"
)


def document(text: str) -> NewDocument:
    """A document as the readers cut it; all its vectors are the same."""
    corpus = MarkdownCorpus(lambda: SentenceCutter(count_words), max_bytes=10**7)
    sections, sentences = corpus.cut(text, source="tanks.md")
    vector = np.eye(1, MANIFEST.dimensions, dtype=np.float32)[0]
    return NewDocument(
        id=document_id("tanks.md"),
        source="tanks.md",
        root="/docs",
        title=sections[0].metadata["title"],
        hash="h",
        text=text,
        sections=sections,
        sentences=sentences,
        vectors={node.node_id: vector for node in (*sections, *sentences)},
    )


def test_every_node_comes_back_with_all_of_its_metadata(open_store: OpenStore) -> None:
    store, new = open_store(), document(TEXT)
    with store.writing(MANIFEST) as writing:
        writing.replace(new)
    assert_whole(store, new)
    assert_whole(store, new)  # what is kept from the first time
    warm = open_store()
    if hasattr(warm.sections, "warm_up"):
        warm.sections.warm_up()
    assert_whole(warm, new)


def assert_whole(store: DocumentStore, new: NewDocument) -> None:
    """The store gives every section and sentence back with the metadata that it was given with."""
    ids = [section.node_id for section in new.sections]
    sections, leaves = [node.metadata for node in new.sections], [node.metadata for node in new.sentences]
    read, grouped = store.sections.get_many(ids), sentences_by_section(store.sentences, ids)
    assert [read[section_id].metadata for section_id in ids] == sections
    assert [leaf.metadata for section_id in ids for leaf in grouped[section_id]] == leaves
    last = new.sentences[-1].node_id
    assert store.sentences.get_many([last])[last].metadata == leaves[-1]
    assert [section.metadata for section in store.sections.document("tanks.md").sections] == sections
