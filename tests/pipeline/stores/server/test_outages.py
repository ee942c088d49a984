"""Servers that die, come back, or do not let us in: one clear error each, and no restart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest
from weaviate import WeaviateClient

from pipeline.errors import StoreError, StoreUnavailable
from pipeline.stores.server import ServerStore
from tests.contracts.documents import delete
from tests.pipeline.stores.server import private as servers_of_tests
from tests.pipeline.stores.server.private import REQUEST, Private, running, write
from tests.server_processes import PrivateMongo, PrivateWeaviate
from tests.server_stores import leftovers

pytestmark = pytest.mark.server

fails = partial(servers_of_tests.fails, kind=StoreUnavailable)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weaviate's client waits up to a minute for a server that is down."""
    monkeypatch.setattr("weaviate.retry.time.sleep", lambda _: None)


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Private]:
    folder = tmp_path_factory.mktemp("servers")
    with running(PrivateMongo(folder / "mongo"), PrivateWeaviate(folder / "weaviate")) as servers:
        yield servers


@pytest.fixture
def store(private: Private) -> Iterator[ServerStore]:
    with closing(ServerStore(private.addresses)) as opened:
        write(opened, "a.md")
        yield opened


def test_a_weaviate_that_dies_and_comes_back(private: Private, store: ServerStore) -> None:
    before = store.search(REQUEST)
    assert before.bm25_sections and before.dense_sentences
    private.weaviate.kill()
    for _ in range(2):
        fails(lambda: store.search(REQUEST), private.weaviate.url, "ATHENA_WEAVIATE_URL")
    assert [info.source for info in store.documents()] == ["a.md"]  # the other server is there
    with pytest.raises(StoreUnavailable, match="Weaviate"):
        write(store, "b.md", "Beta.")
    private.weaviate.start()
    assert store.search(REQUEST).bm25_sentences == before.bm25_sentences
    write(store, "a.md")  # killed, Weaviate may have lost the newest entries of its vector index
    write(store, "b.md", "Beta.")
    assert store.search(REQUEST).dense_sentences[0] == before.dense_sentences[0]
    assert store.statistics().sentences == 2
    assert leftovers(store) == []
    delete(store, "b.md")


def test_a_mongodb_that_dies_and_comes_back(private: Private, store: ServerStore) -> None:
    with closing(ServerStore(private.addresses)) as other:
        conversations = other.conversations
        kept = conversations.create("Kept").info.id
        before = store.search(REQUEST)
        private.mongo.kill()
        words = ("MongoDB", private.mongo.url, "ATHENA_MONGODB_URL")
        fails(lambda: store.search(REQUEST), *words)
        fails(store.documents, *words)
        fails(conversations.list, *words)
        fails(lambda: delete(store, "a.md"), *words)
        private.mongo.start()
        assert store.search(REQUEST) == before
        assert [info.id for info in conversations.list()] == [kept]
        conversations.delete(kept)


def test_a_weaviate_that_has_made_itself_read_only(private: Private, store: ServerStore) -> None:
    """As it does when its disk is nearly full."""

    def set_status(client: WeaviateClient, status: str) -> None:
        for name in client.collections.list_all():
            client.collections.use(name).config.update_shards(status)  # type: ignore[arg-type]

    store._connections.weaviate(partial(set_status, status="READONLY"))
    with pytest.raises(StoreError, match="read-only") as caught:
        write(store, "b.md", "Beta.")
    assert private.weaviate.url in str(caught.value)
    assert [info.source for info in store.documents()] == ["a.md"]
    assert store.search(REQUEST).dense_sentences
    store._connections.weaviate(partial(set_status, status="READY"))
    write(store, "b.md", "Beta.")
    assert leftovers(store) == []
    delete(store, "b.md")
