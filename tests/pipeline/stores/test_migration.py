"""Documents, conversations and memories copied from one store to another, on each backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.stores.base import SearchRequest, Store
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.migration import copy_conversations, copy_documents, copy_memories
from tests.answers import answer
from tests.contracts.conftest import BACKENDS, opened_store
from tests.contracts.documents import ENCODER, MANIFEST, make_document
from tests.contracts.memories import adding, memory

FAN = make_document("fan.md", {"Fan": ["The fan hums.", "It is loud."]})
TANK = make_document("tank.md", {"Tank": ["The tank is cold."], "Valve": ["It vents."]})


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Store]:
    """An embedded store with two documents, a rated conversation and a memory."""
    with closing(EmbeddedStore(tmp_path / "source")) as store:
        write(store, "fan", "tank")
        turn = store.conversations.save_turn(store.conversations.create("About fans").info.id, answer())
        store.conversations.set_feedback(turn, 1)
        store.memories.apply("ann", adding(memory(id="m")), expected=0)
        yield store


@pytest.fixture(params=BACKENDS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each backend in turn."""
    with opened_store(request.param, tmp_path) as store:
        yield store


def write(store: Store, *names: str) -> None:
    with store.writing(MANIFEST) as writing:
        for name in names:
            writing.replace({"fan": FAN, "tank": TANK}[name])


def report(what: str, done: int, total: int) -> None:
    assert what and done <= total


def copied(source: Store, target: Store) -> tuple[int, int, int]:
    return (
        copy_documents(source, target, report=report),
        copy_conversations(source.conversations, target.conversations, report=report),
        copy_memories(source.memories, target.memories, report=report),
    )


def test_everything_arrives_once_and_finds_the_same(source: Store, target: Store) -> None:
    assert copied(source, target) == (2, 1, 1)
    assert copied(source, target) == (0, 0, 0)
    request = SearchRequest("tank vents", ENCODER.encode_query("tank vents"), 5)
    found = target.search(request)
    assert found.bm25_sections and found.dense_sentences
    assert target.document("fan.md").text == FAN.text
    (info,) = source.conversations.list()
    assert target.conversations.get(info.id) == source.conversations.get(info.id)
    assert target.memories.load("ann").memories == source.memories.load("ann").memories


def test_documents_of_the_target_stay(source: Store, target: Store) -> None:
    with target.writing(MANIFEST) as writing:
        writing.replace(replace(make_document("fan.md", {"Fan": ["Another fan."]}), hash="other"))
    assert copied(source, target)[0] == 1
    assert "Another fan." in target.document("fan.md").text


def test_a_conversation_is_copied_again_only_where_it_went_on_in_the_source(
    source: Store, target: Store
) -> None:
    copied(source, target)
    (info,) = source.conversations.list()
    source.conversations.save_turn(info.id, answer("And?"))
    assert copied(source, target)[1] == 1
    target.conversations.save_turn(info.id, answer("More?"))
    assert copied(source, target)[1] == 0
    assert len(target.conversations.get(info.id).turns) == 3


def test_documents_that_a_rebuild_has_not_reached_are_not_copied_and_are_copied_over(
    source: Store, target: Store
) -> None:
    copied(source, target)
    with target.writing(MANIFEST, rebuild=True):
        pass
    assert copy_documents(source, target, report=report) == 2
    with source.writing(MANIFEST, rebuild=True), pytest.raises(StoreError, match="interrupted"):
        copied(source, target)


def test_an_empty_source_is_an_error(source: Store, target: Store) -> None:
    with pytest.raises(StoreError, match="no index"):
        copied(target, source)
