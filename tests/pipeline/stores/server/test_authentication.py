"""Passwords and keys at real servers: right, wrong, missing, and changed while we run; never told."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing

import pytest

from pipeline.errors import ConfigurationError, StoreUnavailable
from pipeline.redaction import secrets_in
from pipeline.stores.server import ServerAddresses, ServerStore
from tests.pipeline.stores.server.private import SOON, Private, fails, found, refused, running, write
from tests.server_processes import PrivateMongo, PrivateWeaviate

pytestmark = pytest.mark.server

PASSWORD = "hush/hush@%:hush"  # all that is special in a URL
WRITTEN = "hush%2Fhush%40%25%3Ahush"
KEY = "right-key-1f6c"
OTHER = "other-secret-9d2a"
NO_KEY = ("Weaviate at", "refuses access", "ATHENA_WEAVIATE_API_KEY")
NO_PASSWORD = ("MongoDB at", "refuses access: wrong user, password", "ATHENA_MONGODB_URL")


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Private]:
    folder = tmp_path_factory.mktemp("servers")
    mongo = PrivateMongo(folder / "mongo", FERRETDB_USER="athena", FERRETDB_PASSWORD=PASSWORD)
    # As in docker-compose.yml.
    weaviate = PrivateWeaviate(
        folder / "weaviate",
        AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED="false",
        AUTHENTICATION_APIKEY_ENABLED="true",
        AUTHENTICATION_APIKEY_ALLOWED_KEYS=KEY,
        AUTHENTICATION_APIKEY_USERS="athena",
        AUTHORIZATION_ADMINLIST_ENABLED="true",
        AUTHORIZATION_ADMINLIST_USERS="athena",
    )
    addresses = ServerAddresses(
        mongodb_url=_url(mongo, WRITTEN),
        weaviate_url=weaviate.url,
        weaviate_grpc_port=weaviate.grpc_port,
        weaviate_api_key=KEY,
    )
    with running(mongo, weaviate, addresses) as servers:
        yield servers


@pytest.fixture
def store(private: Private) -> Iterator[ServerStore]:
    with closing(ServerStore(private.addresses)) as opened:
        write(opened, "a.md")
        yield opened


@pytest.fixture(autouse=True)
def nothing_secret_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    for when in ("setup", "call"):
        for record in caplog.get_records(when):
            told = record.getMessage()
            assert not any(secret in told for secret in (PASSWORD, WRITTEN, KEY, OTHER)), record.name


def test_the_right_key_and_password(store: ServerStore) -> None:
    assert found(store) == 1
    assert store.versions()[1].startswith("1.")
    assert store.conversations.list() == []


@pytest.mark.parametrize("key", [OTHER, ""])
def test_a_wrong_or_missing_key(private: Private, store: ServerStore, key: str) -> None:
    addresses = private.addresses.but(weaviate_api_key=key)
    refused(addresses, found, *NO_KEY, private.weaviate.url)
    refused(addresses, lambda other: other.versions(), *NO_KEY)
    refused(addresses, lambda other: write(other, "b.md"), *NO_KEY)
    assert found(store) == 1


@pytest.mark.parametrize("user", [f"athena:{OTHER}@", f"stranger:{OTHER}@", ""])
def test_a_wrong_or_missing_password(private: Private, store: ServerStore, user: str) -> None:
    url = f"mongodb://{user}127.0.0.1:{private.mongo.port}/?{SOON}&authSource=admin"
    addresses = private.addresses.but(mongodb_url=url)
    refused(addresses, lambda other: other.documents(), *NO_PASSWORD)
    refused(addresses, lambda other: write(other, "b.md"), *NO_PASSWORD)
    with closing(ServerStore(addresses)) as other:
        fails(
            other.conversations.list,
            *NO_PASSWORD,
            kind=StoreUnavailable,
            secrets=[*filter(None, secrets_in(addresses.model_dump()))],
        )


def test_a_password_that_is_not_written_for_a_url(private: Private) -> None:
    """Its special characters make the URL unreadable; the error must not quote it."""
    for password in (PASSWORD, "hush:hush", "100%hush"):
        with pytest.raises(ConfigurationError) as caught:
            addresses = private.addresses.but(mongodb_url=_url(private.mongo, password))
            with closing(ServerStore(addresses)) as store:
                store.documents()
        told = str(caught.value)
        assert "ATHENA_MONGODB_URL" in told and "%XX" in told and "hush" not in told


def _url(mongo: PrivateMongo, password: str) -> str:
    return f"mongodb://athena:{password}@127.0.0.1:{mongo.port}/?{SOON}&authSource=admin"
