"""What nodes share is stored once, and comes back with each of them; on every backend."""

from __future__ import annotations

from pipeline.stores.base import DocumentStore, NewDocument, sentences_by_section
from tests.contracts.conftest import OpenStore
from tests.contracts.documents import MANIFEST
from tests.contracts.tanks import TEXT, document


def test_every_node_comes_back_with_all_of_its_metadata(open_store: OpenStore) -> None:
    store, new = open_store(), document(TEXT)
    with store.writing(MANIFEST) as writing:
        writing.replace(new)
    assert_whole(store, new)
    assert_whole(store, new)  # what is kept from the first time
    assert_whole(open_store(), new)


def assert_whole(store: DocumentStore, new: NewDocument) -> None:
    """The store gives every section and sentence back with the metadata that it was given with."""
    ids = [section.node_id for section in new.sections]
    sections, leaves = [node.metadata for node in new.sections], [node.metadata for node in new.sentences]
    read, grouped = store.get_many(ids), sentences_by_section(store, ids)
    assert [read[section_id].metadata for section_id in ids] == sections
    assert [leaf.metadata for section_id in ids for leaf in grouped[section_id]] == leaves
    last = new.sentences[-1].node_id
    assert store.get_many([last])[last].metadata == leaves[-1]
    assert [section.metadata for section in store.document("tanks.md").sections] == sections
