"""The settings of Weaviate's collections: copies, shards, compressed vectors."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from weaviate import WeaviateClient

from pipeline.errors import StoreError
from pipeline.stores.server import ServerAddresses, ServerStore
from tests.contracts.documents import MANIFEST, found, write

pytestmark = pytest.mark.server


def configs(store: ServerStore) -> list[Any]:
    """What Weaviate says of the store's collections."""
    connections = store._connections
    prefix = f"{connections.addresses.weaviate_prefix}_"

    def read(client: WeaviateClient) -> list[Any]:
        names = [name for name in client.collections.list_all(simple=True) if name.startswith(prefix)]
        return [client.collections.use(name).config.get() for name in names]

    found = connections.weaviate(read)[0]
    assert len(found) == 2
    return found


@pytest.mark.parametrize("quantizer", ["none", "rq", "bq"])
def test_the_settings_are_those_of_the_collections(addresses: ServerAddresses, quantizer: str) -> None:
    given = addresses.but(weaviate_quantizer=quantizer)
    with closing(ServerStore(given)) as store:
        write(store, "a.md", {"A": ["Alpha."], "B": ["Beta."]})
        assert found(store, "alpha") and found(store, "beta")
        for config in configs(store):
            assert config.replication_config.factor == 1
            used = config.vector_config["default"].vector_index_config.quantizer
            assert (used is None) is (quantizer == "none")


def test_more_copies_than_servers_are_refused_with_the_setting(addresses: ServerAddresses) -> None:
    with (
        closing(ServerStore(addresses.but(weaviate_replicas=3))) as store,
        pytest.raises(StoreError, match="nodes"),
        store.writing(MANIFEST),
    ):
        pass
