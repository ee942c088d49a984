"""What the servers' errors become: the server without its password, the setting, and what to do."""

from __future__ import annotations

from contextlib import AbstractContextManager

import httpx
import pymongo.errors as mongo
import pytest
import weaviate.exceptions as weaviate

from pipeline.errors import AthenaError, ConfigurationError, DiskFull, StoreError, StoreUnavailable
from pipeline.stores.server import ServerAddresses
from pipeline.stores.server.connections import Connections
from pipeline.stores.server.errors import server_errors

ADDRESSES = ServerAddresses(
    mongodb_url="mongodb://me:p%40ss%2Fword@db.example:27017/?replicaSet=rs0",
    weaviate_url="https://me:hush@find.example",
)
BULK = {"writeErrors": [{"code": 14031, "errmsg": "out of disk"}]}


def raised(errors: AbstractContextManager[None], error: Exception) -> AthenaError:
    """The error that leaves the block when this one is raised in it."""
    with pytest.raises(AthenaError) as caught, errors:
        raise error
    return caught.value


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (mongo.ServerSelectionTimeoutError("No servers found"), StoreUnavailable, "does not answer"),
        (mongo.AutoReconnect("h:1: connection closed"), StoreUnavailable, "tls=true"),
        (mongo.AutoReconnect("h:1: [SSL: CERTIFICATE_VERIFY_FAILED]"), StoreUnavailable, "tlsCAFile=FILE"),
        (mongo.OperationFailure("database or disk is full (13)", 1), DiskFull, "its disk is full"),
        (mongo.OperationFailure("Authentication failed.", 18), StoreUnavailable, "password"),
        (mongo.NotPrimaryError("not primary"), StoreUnavailable, "not primary"),
        (mongo.BulkWriteError(BULK), DiskFull, "disk is full"),
        (mongo.InvalidURI("Port must be an integer"), ConfigurationError, "Port must be an integer"),
        (mongo.OperationFailure("who knows", 99), StoreError, "who knows"),
    ],
)
def test_mongodb(error: mongo.PyMongoError, kind: type[AthenaError], words: str) -> None:
    told = raised(server_errors("MongoDB", ADDRESSES.mongodb_url), error)
    assert type(told) is kind and told.__cause__ is error
    assert words in str(told)
    assert kind is ConfigurationError or "mongodb://db.example:27017/?replicaSet=rs0" in str(told)
    assert kind in (StoreError, DiskFull) or "ATHENA_MONGODB_URL" in str(told)
    assert "ss/word" not in str(told) and "%2F" not in str(told) and told.fix


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (weaviate.WeaviateStartUpError("no"), StoreUnavailable, "ATHENA_WEAVIATE_URL"),
        (weaviate.WeaviateQueryError("could not find class A", "GRPC search"), StoreError, "--rebuild"),
        (
            weaviate.WeaviateQueryError("Deadline Exceeded", "GRPC search"),
            StoreUnavailable,
            "does not answer",
        ),
        (httpx.ConnectTimeout("slow"), StoreUnavailable, "ATHENA_WEAVIATE_GRPC_PORT"),
        (weaviate.AuthenticationFailedError("login"), StoreUnavailable, "ATHENA_WEAVIATE_API_KEY"),
        (
            weaviate.WeaviateConnectionError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate"),
            StoreUnavailable,
            "SSL_CERT_FILE",
        ),
        (
            weaviate.WeaviateStartUpError("400: Client sent an HTTP request to an HTTPS server."),
            StoreUnavailable,
            "https in",
        ),
        (weaviate.WeaviateBatchError("insufficient permissions to U"), StoreUnavailable, "no right"),
        (weaviate.WeaviateBatchError("shard is read-only"), DiskFull, "Free space"),
        (weaviate.WeaviateQueryError("no such class", "GRPC search"), StoreError, "no such class"),
    ],
)
def test_weaviate(error: Exception, kind: type[AthenaError], words: str) -> None:
    told = raised(server_errors("Weaviate", ADDRESSES.weaviate_url), error)
    assert type(told) is kind and told.__cause__ is error
    assert words in str(told)
    assert "https://find.example" in str(told)
    assert "hush" not in str(told) and told.fix


def test_a_secret_that_an_error_quotes_is_left_out() -> None:
    addresses = ServerAddresses(
        mongodb_url="mongodb://me:hush%2Fhush@db.example/",
        weaviate_api_key="a-key-1f6c",
        weaviate_url="http://w",
    )
    Connections(addresses).close()
    for text in ("bad 'hush/hush'", "bad 'hush%2Fhush'", "bad 'a-key-1f6c'"):
        for error in (mongo.OperationFailure(text), weaviate.WeaviateQueryError(text, "search")):
            assert "bad '[secret]'" in str(raised(server_errors("MongoDB", "mongodb://h"), error))


@pytest.mark.parametrize(
    "url", ["mongodb://me:hush:hush@h/", "mongodb://h:99999", "mongodb://h/?tls=true&tlsCAFile=/n.pem"]
)
def test_a_url_of_mongodb_that_cannot_be_used(url: str) -> None:
    connections = Connections(ServerAddresses(mongodb_url=url))
    with pytest.raises(ConfigurationError, match="ATHENA_MONGODB_URL") as caught, connections.mongodb():
        pass
    assert "hush" not in str(caught.value)


def test_addresses_hide_their_secrets_and_refuse_nonsense() -> None:
    assert "hush" not in repr(ADDRESSES) and "word" not in repr(ADDRESSES)
    for password in ("hush/hush", "hush@hush", "hush?hush", "hush#hush"):
        with pytest.raises(ConfigurationError, match="ATHENA_MONGODB_URL") as caught:
            ServerAddresses(mongodb_url=f"mongodb://me:{password}@h/")
        assert "hush" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="ATHENA_WEAVIATE_URL"):
        ServerAddresses(mongodb_url="mongodb://h", weaviate_url="find.example")
    for url in ("http://find.example:99999", "http://find.example:x", "http://", "http://[::1"):
        with pytest.raises(ConfigurationError, match="ATHENA_WEAVIATE_URL"):
            ServerAddresses(mongodb_url="mongodb://h", weaviate_url=url)
    with pytest.raises(ConfigurationError, match="ATHENA_MONGODB_DATABASE"):
        ServerAddresses(mongodb_url="mongodb://h", mongodb_database="my-store")
