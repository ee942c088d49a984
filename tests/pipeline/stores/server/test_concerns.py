"""What MongoDB is asked for: the primary, a majority, and transactions where it has some."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from pymongo import ReadPreference

from pipeline.errors import ConfigurationError, StoreError
from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server.conversations import ServerConversations
from pipeline.stores.server.mongo import MongoServer
from pipeline.stores.server.servers import Servers
from tests.contracts.documents import MANIFEST, make_document
from tests.contracts.test_conversations import answer
from tests.pipeline.stores.server.replica import Replica, replica_before

WEAK = "w=1&readPreference=secondaryPreferred&readConcernLevel=local&journal=false"


@pytest.fixture
def replica(addresses: ServerAddresses) -> Iterator[Replica]:
    url = urlsplit(addresses.mongodb_url)
    with replica_before(url.hostname or "", url.port or 0) as relay:
        yield relay


def of(replica: Replica, *names: str) -> list[dict[str, Any]]:
    return [command for command in replica.commands if next(iter(command)) in names]


def test_unconfirmed_writes_are_refused() -> None:
    mongo = MongoServer(ServerAddresses(mongodb_url="mongodb://127.0.0.1:9/?w=0", weaviate_url="http://x:1"))
    with pytest.raises(ConfigurationError, match="ATHENA_MONGODB_URL says w=0"), mongo.database():
        pass


def test_the_primary_and_a_majority_are_asked_whatever_the_url_says() -> None:
    url = f"mongodb://127.0.0.1:9/?{WEAK}"
    mongo = MongoServer(ServerAddresses(mongodb_url=url, weaviate_url="http://x:1"))
    with closing(mongo), mongo.collection("state") as states:
        assert states.read_preference == ReadPreference.PRIMARY
        assert states.read_concern.document == {"level": "majority"}
        assert states.write_concern.document["w"] == "majority"


@pytest.mark.server
def test_what_is_sent_has_these_concerns(addresses: ServerAddresses, replica: Replica) -> None:
    weak = addresses.but(mongodb_url=f"{replica.url}&{WEAK}")
    with closing(ServerStore(weak)) as store:
        with store.writing(MANIFEST) as writing:
            writing.replace(make_document("a.md", {"A": ["Alpha."]}))
        assert [info.source for info in store.sections.documents()] == ["a.md"]
    plain = [command for command in replica.commands if "autocommit" not in command]
    reads = [command for command in plain if next(iter(command)) == "find"]
    writes = [command for command in plain if next(iter(command)) in ("insert", "update", "delete")]
    assert {command["find"] for command in reads} >= {"state", "documents", "pending"}
    assert all(command["readConcern"]["level"] == "majority" for command in reads)
    assert all("$readPreference" not in command for command in reads)  # the primary
    assert writes and all(command["writeConcern"]["w"] == "majority" for command in writes)


@pytest.mark.server
def test_where_there_are_transactions_the_log_and_the_state_change_together(
    addresses: ServerAddresses, replica: Replica
) -> None:
    with closing(ServerStore(addresses.but(mongodb_url=replica.url))) as store:
        with store.writing(MANIFEST) as writing:
            writing.replace(make_document("a.md", {"A": ["Alpha."]}))
        assert [info.source for info in store.sections.documents()] == ["a.md"]
    together: dict[int, list[str]] = {}
    for command in of(replica, "insert", "update", "commitTransaction"):
        if "autocommit" in command:
            name = next(iter(command))
            together.setdefault(command["txnNumber"], []).append(str(command[name]))
    assert ["documents", "state", "1"] in together.values()
    assert all(
        command["insert"] != "documents" or "autocommit" in command for command in of(replica, "insert")
    )
    commits = of(replica, "commitTransaction")
    assert commits and all(command["writeConcern"]["w"] == "majority" for command in commits)


@pytest.mark.server
def test_a_turn_and_the_number_of_turns_change_together(addresses: ServerAddresses, replica: Replica) -> None:
    with closing(ServerConversations(addresses.but(mongodb_url=replica.url))) as conversations:
        id_ = conversations.create().info.id
        conversations.save_turn(id_, answer())
        assert [info.turns for info in conversations.list()] == [1]
        inserted = [command for command in of(replica, "insert") if command["insert"] == "turns"]
        assert inserted and all("autocommit" in command for command in inserted)
        conversations.delete(id_)
        deleted = [
            command for command in of(replica, "delete") if command["delete"] in ("conversations", "turns")
        ]
        assert len(deleted) == 2 and all("autocommit" in command for command in deleted)


@pytest.mark.server
def test_what_fails_within_a_transaction_ends_it_and_is_told_as_ours(
    addresses: ServerAddresses, replica: Replica
) -> None:
    with closing(Servers(addresses.but(mongodb_url=replica.url))) as servers:

        def change() -> None:
            with servers.mongo.collection("things") as things:
                things.insert_one({"_id": 1})
                things.insert_one({"_id": 1})

        with pytest.raises(StoreError, match=r"MongoDB at .* refused"):
            servers.mongo.atomically(change)
    assert of(replica, "abortTransaction") and not of(replica, "commitTransaction")


@pytest.mark.server
def test_ferretdb_has_no_transactions_and_gets_none(addresses: ServerAddresses) -> None:
    with closing(Servers(addresses)) as servers:
        assert not servers.mongo.has_transactions()
