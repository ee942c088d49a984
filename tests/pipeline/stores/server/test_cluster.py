"""How Weaviate keeps the collections: copies, parts, compressed vectors, tenants."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from weaviate import WeaviateClient

from pipeline.errors import ConfigurationError, StoreError
from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server.schema import store_prefix
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.state import read_state
from tests.contracts.documents import MANIFEST, make_document
from tests.contracts.test_document_store import found, write

pytestmark = pytest.mark.server


def configs(addresses: ServerAddresses) -> list[Any]:
    """What Weaviate says of the store's collections."""
    with closing(Servers(addresses)) as servers:
        prefix = store_prefix(addresses.weaviate_prefix, read_state(servers.mongo).store)

        def read(client: WeaviateClient) -> list[Any]:
            names = [name for name in client.collections.list_all(simple=True) if name.startswith(prefix)]
            return [client.collections.use(name).config.get() for name in names]

        return servers.weaviate.run(read)


def test_a_collection_is_whole_and_kept_once_unless_told_otherwise(
    addresses: ServerAddresses, store: ServerStore
) -> None:
    write(store, "a.md", {"A": ["Alpha."]})
    for config in configs(addresses):
        assert config.replication_config.factor == 1
        assert config.vector_config["default"].vector_index_config.quantizer is None
        assert not config.multi_tenancy_config.enabled


@pytest.mark.parametrize("quantizer", ["rq", "bq"])
def test_the_settings_are_those_of_the_collections(addresses: ServerAddresses, quantizer: str) -> None:
    given = addresses.but(weaviate_shards=2, weaviate_quantizer=quantizer)
    with closing(ServerStore(given)) as store:
        write(store, "a.md", {"A": ["Alpha."], "B": ["Beta."]})
        assert found(store, "alpha") and found(store, "beta")
        assert store.find_orphans().is_clean
    for config in configs(given):
        assert config.sharding_config.desired_count == 2
        assert config.vector_config["default"].vector_index_config.quantizer is not None


def test_an_index_is_a_tenant_where_it_is_told_to_be(addresses: ServerAddresses) -> None:
    given = addresses.but(weaviate_tenant="ship")
    with closing(ServerStore(given)) as store:
        write(store, "a.md", {"A": ["Alpha."], "B": ["Beta."]})
        write(store, "a.md", {"A": ["Gamma."]})
        assert found(store, "gamma") and not found(store, "alpha")
        assert store.find_orphans().is_clean
        with store.writing(MANIFEST, rebuild=True) as writing:
            writing.replace(make_document("b.md", {"B": ["Beta."]}))
            writing.publish()
        assert found(store, "beta") and not found(store, "gamma")
        store.delete_document("b.md")
        assert store.find_orphans().is_clean
    assert all(config.multi_tenancy_config.enabled for config in configs(given))


def test_more_copies_than_servers_are_refused_with_the_setting(addresses: ServerAddresses) -> None:
    with (
        closing(ServerStore(addresses.but(weaviate_replicas=3))) as store,
        pytest.raises(StoreError, match="ATHENA_WEAVIATE_REPLICAS"),
        store.writing(MANIFEST),
    ):
        pass


def test_a_tenant_is_one_part() -> None:
    with pytest.raises(ConfigurationError, match="ATHENA_WEAVIATE_SHARDS"):
        ServerAddresses(weaviate_tenant="ship", weaviate_shards=2)
