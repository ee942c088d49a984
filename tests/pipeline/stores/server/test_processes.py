"""The writer's place among processes that are elsewhere, and clients that several share."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from pipeline.errors import StoreError
from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.state import STATE_ID
from tests.contracts.documents import MANIFEST, make_document
from tests.contracts.test_document_store import write

pytestmark = pytest.mark.server


def test_the_lease_of_a_dead_machine_runs_out(addresses: ServerAddresses, store: ServerStore) -> None:
    write(store, "a.md", {"A": ["Alpha."]})
    with closing(Servers(addresses)) as servers:
        lease = {"owner": "x", "machine": "elsewhere/1", "pid": 1, "expires_at": servers.mongo.now() + 1.5}
        with servers.mongo.collection("state") as states:
            states.update_one({"_id": STATE_ID}, {"$set": {"writer": lease}})
    started = time.monotonic()
    with (
        closing(ServerStore(addresses, lock_wait_s=0.2)) as other,
        pytest.raises(StoreError, match="on 'elsewhere'"),
        other.writing(MANIFEST),
    ):
        pass
    write(store, "b.md", {"B": ["Beta."]})
    assert time.monotonic() - started > 1.0
    assert len(store.sections.documents()) == 2


def test_a_writer_who_was_away_for_too_long_shows_nothing(addresses: ServerAddresses) -> None:
    with closing(ServerStore(addresses)) as first, closing(ServerStore(addresses)) as second:
        write(first, "a.md", {"A": ["Alpha."]})
        with pytest.raises(StoreError, match="taken the writer's place"), first.writing(MANIFEST) as writing:
            writing.replace(make_document("b.md", {"B": ["Beta."]}))
            with closing(Servers(addresses)) as servers, servers.mongo.collection("state") as states:
                states.update_one({"_id": STATE_ID}, {"$set": {"writer.expires_at": 1.0}})
            write(second, "c.md", {"C": ["Gamma."]})
            writing.flush()
        assert [info.source for info in second.sections.documents()] == ["a.md", "c.md"]
        write(second, "c.md", {"C": ["Gamma."]})
        assert second.find_orphans().is_clean


def test_clients_are_shared_and_closed_with_their_last_owner(addresses: ServerAddresses) -> None:
    first, second = Servers(addresses), Servers(addresses)
    assert first.mongo is second.mongo and first.weaviate is second.weaviate
    third = Servers(addresses.but(mongodb_database="another"))
    assert third.mongo is not first.mongo
    for servers in (first, third):
        servers.close()
        servers.close()
    assert second.mongo.version() and second.weaviate.version()
    second.close()
    with pytest.raises(StoreError, match="closed"):
        second.mongo.version()
