"""What MongoDB is asked for: the primary and a majority, whatever the URL says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from pymongo import ReadPreference, monitoring

from pipeline.errors import ConfigurationError
from pipeline.stores.server import ServerAddresses, ServerStore
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


def test_the_primary_and_a_majority_are_asked_whatever_the_url_says() -> None:
    url = f"mongodb://127.0.0.1:9/?{WEAK}"
    mongo = MongoServer(ServerAddresses(mongodb_url=url, weaviate_url="http://x:1"))
    with closing(mongo), mongo.collection("state") as states:
        assert states.read_preference == ReadPreference.PRIMARY
        assert states.read_concern.document == {"level": "majority"}
        assert states.write_concern.document["w"] == "majority"


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
