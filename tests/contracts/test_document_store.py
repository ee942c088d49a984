"""What every `DocumentStore` does: writing, replacing, rebuilding, reading."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from pipeline.errors import ManifestMismatch, StoreError, UnknownDocument
from pipeline.stores.base import DocumentStore, NewDocument, SearchRequest
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded import store as store_module
from tests.contracts.conftest import OpenStore
from tests.contracts.documents import (
    ENCODER,
    MANIFEST,
    OTHER_ENCODER,
    OTHER_MANIFEST,
    delete,
    found,
    make_document,
    make_id,
    write,
)
from tests.server_stores import leftovers

OUTDATED: tuple[dict[str, Any], ...] = (
    {"format": 2}, {"dimensions": 16}, {"splitter": "b"}, {"fingerprint": "file 2"}, {"recipe": 2}
)  # fmt: skip


class TestDocumentStore:
    def test_replacing_leaves_nothing_of_the_former_version(self, store: DocumentStore) -> None:
        write(store, "a.md", {"Old": ["The oldest words."], "Same": ["Stays."]})
        write(store, "a.md", {"New": ["The newest words."], "Same": ["Stays."]})
        assert found(store, "oldest") == set()
        assert found(store, "newest") == {make_id("a.md", "New")}
        assert found(store, "stays") == {make_id("a.md", "Same")}
        assert store.statistics().sentences == 2
        assert len(store.documents()) == 1
        with store.writing(MANIFEST) as writing:
            writing.delete("a.md")
            with pytest.raises(UnknownDocument):
                writing.delete("a.md")
        assert found(store, "newest") == set()
        assert store.statistics().sentences == 0

    def test_a_document_without_sections_is_kept(self, store: DocumentStore) -> None:
        write(store, "empty.md", {})
        assert [info.sections for info in store.documents()] == [0]
        assert store.document("empty.md").sections == ()

    def test_another_manifest_is_refused_with_the_command_that_helps(self, store: DocumentStore) -> None:
        write(store, "a.md", {"A": ["Alpha."]})
        outdated = (replace(MANIFEST, **change) for change in OUTDATED)
        for manifest, command in (
            (OTHER_MANIFEST, "ingest --rebuild"),
            *((one, "ingest FOLDER") for one in outdated),
        ):
            with pytest.raises(ManifestMismatch, match=command), store.writing(manifest):
                pass

    def test_an_empty_store_takes_any_manifest(self, store: DocumentStore) -> None:
        write(store, "a.md", {"A": ["Alpha."]})
        delete(store, "a.md")
        with store.writing(OTHER_MANIFEST) as writing:
            writing.replace(make_document("b.md", {"B": ["Beta."]}, encoder=OTHER_ENCODER))
        assert store.statistics().manifest == OTHER_MANIFEST


class TestRebuild:
    def test_documents_keep_their_texts_and_are_found_once_they_are_written_again(
        self, store: DocumentStore
    ) -> None:
        for source in ("a.md", "b.md"):
            write(store, source, {"A": ["Alpha."]})
        before = {info.source: info for info in store.documents()}
        with store.writing(OTHER_MANIFEST, rebuild=True) as writing:
            writing.replace(make_document("a.md", {"A": ["Alpha again."]}, encoder=OTHER_ENCODER))
        assert [bool(info.indexed_at) for info in store.documents()] == [True, False]
        waiting = store.document("b.md")
        assert (waiting.text, waiting.sections) == ("# A\nAlpha.\n", ())
        unlike = {"sections": 0, "sentences": 0, "indexed_at": 0.0}
        assert waiting.info == replace(before["b.md"], **unlike)  # type: ignore[arg-type]
        with store.writing(OTHER_MANIFEST):  # as a later ingest goes on
            pass
        response = store.search(SearchRequest("alpha", OTHER_ENCODER.encode_query("alpha"), 5))
        for ranking in (response.bm25_sections, response.dense_sections):
            assert [hit.node_id for hit in ranking] == [make_id("a.md", "A")]
        assert store.get_many([make_id("b.md", "A")]) == {}
        with store.writing(OTHER_MANIFEST) as writing:
            writing.replace(make_document("b.md", {"A": ["Alpha."]}, encoder=OTHER_ENCODER))
        assert store.document("b.md").sections
        assert leftovers(store) == []

    def test_with_the_same_manifest_everything_goes_too(self, store: DocumentStore) -> None:
        write(store, "a.md", {"A": ["Alpha."]})
        with store.writing(MANIFEST, rebuild=True):
            assert found(store, "alpha") == set()
            assert store.get_many([make_id("a.md", "A")]) == {}
        write(store, "a.md", {"A": ["Alpha."]})
        assert found(store, "alpha") == {make_id("a.md", "A")}


class TestTogether:
    """Several stores over the same data, and several threads at one."""

    def test_a_search_with_another_model_than_the_index_has_is_refused(self, open_store: OpenStore) -> None:
        writer, reader = open_store(), open_store(manifest=MANIFEST)
        request = SearchRequest("alpha", ENCODER.encode_query("alpha"), 5)
        write(writer, "a.md", {"A": ["Alpha."]})
        assert reader.search(request).dense_sections[0].node_id == make_id("a.md", "A")
        with writer.writing(OTHER_MANIFEST, rebuild=True) as writing:
            writing.replace(make_document("a.md", {"A": ["Alpha."]}, encoder=OTHER_ENCODER))
        with pytest.raises(ManifestMismatch, match="now fake-encoder"):
            reader.search(request)

    def test_a_second_writer_in_the_same_program_is_told_so(
        self, open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not isinstance(open_store(), EmbeddedStore):
            pytest.skip("on the servers, several processes write at once")
        monkeypatch.setattr(store_module, "LOCK_WAIT_S", 0.1)
        store = open_store()
        with (
            store.writing(MANIFEST),
            pytest.raises(StoreError, match="writing to it"),
            store.writing(MANIFEST),
        ):
            pass

    @pytest.mark.slow
    def test_many_threads_search_while_one_writes(self, store: DocumentStore) -> None:
        failures: list[BaseException] = []
        done = threading.Event()

        def search() -> None:
            vector = ENCODER.encode_query("marker")
            try:
                while not done.is_set():
                    response = store.search(SearchRequest("marker", vector, 50))
                    found = store.get_many([hit.node_id for hit in response.dense_sections])
                    assert all("Marker" in node.text for node in found.values())
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        for version in range(5):
            with store.writing(MANIFEST) as writing:
                for number in range(5):
                    writing.replace(make_document(f"{number}.md", {"A": [f"Marker {version}."]}))
        done.set()
        for thread in threads:
            thread.join()
        assert failures == []


TANK = {"Tank": ["The LN2 tank is cold.", "It vents."], "Valve": ["The valve opens."]}


@pytest.fixture
def tank(store: DocumentStore) -> NewDocument:
    document = make_document("ecs/tank.md", TANK)
    with store.writing(MANIFEST) as writing:
        writing.replace(document)
        writing.replace(make_document("a.md", {"A": ["Alpha."]}, root="/other"))
    return document


class TestSectionStore:
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
        section_id = make_id("ecs/tank.md", "Tank")
        section = store.get_many([section_id, "unknown"])[section_id]
        assert (section.document_id, section.section_id) == (tank.id, "")
        assert section.sentence_ids == (make_id(section_id, 0), make_id(section_id, 1))
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

    def test_deleting_takes_everything_of_that_document_only(
        self, store: DocumentStore, tank: NewDocument
    ) -> None:
        delete(store, "ecs/tank.md")
        assert [info.source for info in store.documents()] == ["a.md"]
        assert store.get_many([node.node_id for node in tank.sections]) == {}
        assert store.get_many([node.node_id for node in tank.sentences]) == {}
        assert store.vectors([node.node_id for node in tank.sentences]) == {}
        assert store.statistics().sentences == 1
