"""A data folder that is deleted, exchanged for another, or protected, while it is in use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import ManifestMismatch, StoreError, UnknownConversation
from pipeline.stores.base import SearchRequest
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.database import FILE_NAME
from tests.contracts.documents import ENCODER, MANIFEST, make_document, make_id


def write(folder: Path, source: str, text: str, *, manifest: object = MANIFEST) -> None:
    with closing(EmbeddedStore(folder)) as store, store.writing(manifest) as writing:  # type: ignore[arg-type]
        writing.replace(make_document(source, {"Heading": [text]}))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    """A store in use: it has been searched."""
    write(tmp_path / "data", "old.md", "The old pump hums.")
    store = EmbeddedStore(tmp_path / "data", manifest=MANIFEST)
    assert found(store, "pump") == {make_id("old.md", "Heading")}
    yield store
    store.close()


def found(store: EmbeddedStore, text: str) -> set[str]:
    response = store.sentences.search(SearchRequest(text, ENCODER.encode_query(text), 5))
    return {hit.node_id for hit in (*response.bm25_sections, *response.dense_sections)}


def test_one_that_was_deleted_is_not_answered_from(store: EmbeddedStore, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "data")
    for use in (
        lambda: found(store, "pump"),
        lambda: store.sections.documents(),
        lambda: store.sentences.vocabulary(),
        lambda: write_with(store),
    ):
        with pytest.raises(StoreError, match="was deleted or moved while it was in use") as caught:
            use()
        assert "athena ingest" in caught.value.fix
    assert not (tmp_path / "data" / FILE_NAME).exists()


def write_with(store: EmbeddedStore) -> None:
    with store.writing(MANIFEST):
        pass


def test_another_in_its_place_is_searched(store: EmbeddedStore, tmp_path: Path) -> None:
    write(tmp_path / "other", "new.md", "The new pump hums.")
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "other").rename(tmp_path / "data")
    assert found(store, "pump") == {make_id("new.md", "Heading")}
    assert [info.source for info in store.sections.documents()] == ["new.md"]
    assert store.sentences.count() == 1
    with store.writing(MANIFEST) as writing:
        writing.replace(make_document("newer.md", {"Heading": ["A pump, too."]}))
    assert len(found(store, "pump")) == 2


def test_a_copy_of_itself_that_went_on_otherwise_is_searched(store: EmbeddedStore, tmp_path: Path) -> None:
    """It has the same name and has changed as often."""
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    write(tmp_path / "data", "one.md", "One valve.")
    write(tmp_path / "copy", "two.md", "Two valves.")
    assert make_id("one.md", "Heading") in found(store, "valve")
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "copy").rename(tmp_path / "data")
    assert make_id("two.md", "Heading") in found(store, "valve")
    assert make_id("one.md", "Heading") not in found(store, "valve")


def test_one_that_was_made_with_another_model_is_refused(store: EmbeddedStore, tmp_path: Path) -> None:
    write(tmp_path / "other", "new.md", "Pump.", manifest=replace(MANIFEST, embedding_model="another"))
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "other").rename(tmp_path / "data")
    with pytest.raises(ManifestMismatch, match="another"):
        found(store, "pump")


def test_one_that_was_written_over_in_place_is_searched(store: EmbeddedStore, tmp_path: Path) -> None:
    """As `cp` does it, whose file keeps its inode."""
    write(tmp_path / "other", "new.md", "The new pump hums.")
    (tmp_path / "data" / FILE_NAME).write_bytes((tmp_path / "other" / FILE_NAME).read_bytes())
    assert found(store, "pump") == {make_id("new.md", "Heading")}


def test_a_conversation_is_not_stored_in_another_folder(tmp_path: Path) -> None:
    with closing(EmbeddedConversations(tmp_path / "data" / FILE_NAME)) as conversations:
        known = conversations.create("here").info.id
        shutil.rmtree(tmp_path / "data")
        with pytest.raises(StoreError, match="while it was in use"):
            conversations.list()
        EmbeddedConversations(tmp_path / "data" / FILE_NAME).close()
        assert conversations.list() == []
        with pytest.raises(UnknownConversation):
            conversations.get(known)


def test_a_folder_that_cannot_be_written_is_named(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with (
        pytest.raises(StoreError, match=r"Cannot write.*Permission denied.*--data-dir"),
        store.writing(MANIFEST),
    ):
        pass
    assert store.sections.documents()
    monkeypatch.undo()
