"""What MongoDB is asked for, whatever the URL says; and a database that another version has filled."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pymongo
import pytest
from pymongo import monitoring

from pipeline.errors import ConfigurationError, StoreError
from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server.conversations import ServerConversations
from pipeline.stores.server.memories import ServerMemories
from pipeline.stores.server.mongo import MongoServer
from tests.contracts.documents import MANIFEST, make_document

WEAK = "w=1&readPreference=secondaryPreferred&readConcernLevel=local&journal=false"


class Commands(monitoring.CommandListener):
    """Keeps what one client sends."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.sent.append(dict(event.command))

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        pass

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass

    def named(self, *names: str) -> list[dict[str, Any]]:
        return [command for command in self.sent if next(iter(command)) in names]


@pytest.fixture
def commands() -> Iterator[Commands]:
    """The commands of all clients that are made from here on."""
    kept = Commands()
    monitoring.register(kept)
    yield kept
    monitoring._LISTENERS.command_listeners.remove(kept)


def test_unconfirmed_writes_are_refused() -> None:
    mongo = MongoServer(ServerAddresses(mongodb_url="mongodb://127.0.0.1:9/?w=0", weaviate_url="http://x:1"))
    with pytest.raises(ConfigurationError, match="ATHENA_MONGODB_URL says w=0"), mongo.database():
        pass


@pytest.mark.server
def test_what_is_sent_has_these_concerns(addresses: ServerAddresses, commands: Commands) -> None:
    weak = addresses.but(mongodb_url=f"{addresses.mongodb_url}/?{WEAK}")
    with closing(ServerStore(weak)) as store:
        with store.writing(MANIFEST) as writing:
            writing.replace(make_document("a.md", {"A": ["Alpha."]}))
        assert [info.source for info in store.sections.documents()] == ["a.md"]
    reads, writes = commands.named("find"), commands.named("insert", "update", "delete")
    assert {command["find"] for command in reads} >= {"state", "documents", "pending"}
    assert all(command["readConcern"]["level"] == "majority" for command in reads)
    assert all("$readPreference" not in command for command in reads)  # the primary
    assert writes and all(command["writeConcern"]["w"] == "majority" for command in writes)
    assert not any("autocommit" in command for command in commands.sent)  # no transaction


@pytest.mark.server
@pytest.mark.parametrize("number", [None, 1, 99])
def test_a_database_of_another_layout_is_refused(addresses: ServerAddresses, number: int | None) -> None:
    client: pymongo.MongoClient[dict[str, Any]]
    with pymongo.MongoClient(addresses.mongodb_url) as client:
        database = client[addresses.mongodb_database]
        database["conversations"].insert_one({"_id": "old", "title": "Old"})
        if number is not None:
            database["layout"].insert_one({"_id": "layout", "number": number})
        for opened in (ServerStore(addresses), ServerConversations(addresses), ServerMemories(addresses)):
            read = opened.sections.documents if isinstance(opened, ServerStore) else opened.users
            with closing(opened), pytest.raises(StoreError, match="another layout") as caught:
                read()
            assert "ATHENA_MONGODB_DATABASE" in caught.value.fix
        client.drop_database(addresses.mongodb_database)  # what removes it afterwards would be refused, too


@pytest.mark.server
def test_an_empty_database_that_many_open_at_once_is_everybodys(addresses: ServerAddresses) -> None:
    servers = [MongoServer(addresses) for _ in range(8)]
    with ThreadPoolExecutor(len(servers)) as pool:
        list(pool.map(MongoServer.ensure_indexes, servers))
    for server in servers:
        server.close()
