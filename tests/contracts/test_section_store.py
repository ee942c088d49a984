"""How every store reads documents."""

from __future__ import annotations

import pytest

from pipeline.errors import UnknownDocument
from pipeline.stores.base import DocumentStore, NewDocument
from tests.contracts.documents import MANIFEST, delete, make_document, make_id

TANK = {"Tank": ["The LN2 tank is cold.", "It vents."], "Valve": ["The valve opens."]}


@pytest.fixture
def tank(store: DocumentStore) -> NewDocument:
    document = make_document("ecs/tank.md", TANK)
    with store.writing(MANIFEST) as writing:
        writing.replace(document)
        writing.replace(make_document("a.md", {"A": ["Alpha."]}, root="/other"))
    return document


class TestSectionStore:
    def test_an_empty_store_has_no_documents_and_no_manifest(self, store: DocumentStore) -> None:
        assert store.documents() == []
        assert store.statistics().manifest is None
        assert store.get_many(["x"]) == {}

    def test_documents_are_listed_by_source_with_their_counts(
        self, store: DocumentStore, tank: NewDocument
    ) -> None:
        a, b = store.documents()
        assert (a.source, b.source) == ("a.md", "ecs/tank.md")
        assert (b.id, b.root, b.title, b.hash) == (tank.id, tank.root, tank.title, tank.hash)
        assert (b.sections, b.sentences, b.characters) == (2, 3, len(tank.text))
        assert b.indexed_at > 0

    def test_a_document_comes_back_whole(self, store: DocumentStore, tank: NewDocument) -> None:
        stored = store.document("ecs/tank.md")
        assert stored.text == tank.text
        assert [node.node_id for node in stored.sections] == [node.node_id for node in tank.sections]
        for was, now in zip(tank.sections, stored.sections, strict=True):
            assert (now.text, now.metadata) == (was.text, was.metadata)
            assert stored.text[now.start_char_idx : now.end_char_idx] == now.text

    def test_documents_are_counted_by_their_language(self, store: DocumentStore, tank: NewDocument) -> None:
        assert store.statistics().languages == {"en": 2}
        german = make_document("de.md", {"Tank": ["Der Tank ist kalt."]})
        for section in german.sections:
            section.metadata["language"] = "de"  # type: ignore[index]
        with store.writing(MANIFEST) as writing:
            writing.replace(german)
        assert store.statistics().languages == {"en": 2, "de": 1}
        delete(store, "a.md")
        assert store.statistics().languages == {"en": 1, "de": 1}

    def test_an_unknown_document_is_named(self, store: DocumentStore) -> None:
        with pytest.raises(UnknownDocument, match=r"nowhere\.md"):
            store.document("nowhere.md")
        with pytest.raises(UnknownDocument, match=r"nowhere\.md"):
            delete(store, "nowhere.md")

    def test_sections_know_their_document_and_their_sentences(
        self, store: DocumentStore, tank: NewDocument
    ) -> None:
        section_id = make_id("ecs/tank.md", "Tank")
        section = store.get_many([section_id, "unknown"])[section_id]
        assert section.document_id == tank.id
        assert section.sentence_ids == (make_id(section_id, 0), make_id(section_id, 1))
        assert section.section_id == ""

    def test_an_unknown_id_is_missing(self, store: DocumentStore, tank: NewDocument) -> None:
        ids = [node.node_id for node in tank.sections]
        assert set(store.get_many([*ids, "unknown"])) == set(ids)

    def test_deleting_takes_everything_of_that_document_only(
        self, store: DocumentStore, tank: NewDocument
    ) -> None:
        delete(store, "ecs/tank.md")
        assert [info.source for info in store.documents()] == ["a.md"]
        assert store.get_many([node.node_id for node in tank.sections]) == {}
        assert store.get_many([node.node_id for node in tank.sentences]) == {}
        assert store.vectors([node.node_id for node in tank.sentences]) == {}
        assert store.statistics().sentences == 1
