"""What the servers' errors become: the server without its password, the setting, and what to do."""

from __future__ import annotations

import httpx
import pymongo.errors as mongo
import pytest
import weaviate.exceptions as weaviate

from pipeline.errors import AthenaError, ConfigurationError, DiskFull, StoreError, StoreUnavailable
from pipeline.stores.server import ServerAddresses
from pipeline.stores.server.connections import Connections
from pipeline.stores.server.errors import describe_mongodb, describe_weaviate, mongodb_errors, weaviate_errors

ADDRESSES = ServerAddresses(
    mongodb_url="mongodb://me:p@ss/word@db.example:27017/?replicaSet=rs0",
    weaviate_url="https://me:hush@find.example",
)
BULK = {"writeErrors": [{"code": 14031, "errmsg": "out of disk"}]}


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (mongo.ServerSelectionTimeoutError("No servers found"), StoreUnavailable, "does not answer"),
        (mongo.NetworkTimeout("timed out"), StoreUnavailable, "does not answer"),
        (mongo.AutoReconnect("h:1: connection closed"), StoreUnavailable, "tls=true"),
        (mongo.AutoReconnect("h:1: [SSL: CERTIFICATE_VERIFY_FAILED]"), StoreUnavailable, "tlsCAFile=FILE"),
        (mongo.OperationFailure("database or disk is full (13)", 1), DiskFull, "its disk is full"),
        (mongo.OperationFailure("Authentication failed.", 18), StoreUnavailable, "password"),
        (mongo.OperationFailure("not authorized", 13), StoreUnavailable, "password"),
        (mongo.NotPrimaryError("not primary"), StoreUnavailable, "not primary"),
        (mongo.BulkWriteError(BULK), DiskFull, "disk is full"),
        (mongo.WriteError("No space left on device"), DiskFull, "disk is full"),
        (mongo.DocumentTooLarge("too large"), StoreError, "16 MB"),
        (mongo.InvalidURI("Port must be an integer"), ConfigurationError, "Port must be an integer"),
        (mongo.OperationFailure("who knows", 99), StoreError, "who knows"),
    ],
)
def test_mongodb(error: mongo.PyMongoError, kind: type[AthenaError], words: str) -> None:
    told = describe_mongodb(error, ADDRESSES)
    assert type(told) is kind
    assert words in str(told)
    assert kind is ConfigurationError or "mongodb://db.example:27017/?replicaSet=rs0" in str(told)
    assert kind in (StoreError, DiskFull) or "ATHENA_MONGODB_URL" in str(told)
    assert "ss/word" not in str(told) and told.fix


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (weaviate.WeaviateStartUpError("no"), StoreUnavailable, "ATHENA_WEAVIATE_URL"),
        (
            weaviate.WeaviateQueryError("Deadline Exceeded", "GRPC search"),
            StoreUnavailable,
            "does not answer",
        ),
        (httpx.ConnectTimeout("slow"), StoreUnavailable, "ATHENA_WEAVIATE_GRPC_PORT"),
        (weaviate.AuthenticationFailedError("login"), StoreUnavailable, "ATHENA_WEAVIATE_API_KEY"),
        (
            weaviate.WeaviateQueryError("unauthorized", "GRPC search"),
            StoreUnavailable,
            "ATHENA_WEAVIATE_API_KEY",
        ),
        (
            weaviate.WeaviateConnectionError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate"),
            StoreUnavailable,
            "SSL_CERT_FILE",
        ),
        (
            weaviate.WeaviateStartUpError("400: Client sent an HTTP request to an HTTPS server."),
            StoreUnavailable,
            "begins with https",
        ),
        (weaviate.WeaviateBatchError("insufficient permissions to U"), StoreUnavailable, "or no right"),
        (weaviate.WeaviateBatchError("shard is read-only"), StoreError, "Free space"),
        (
            weaviate.WeaviateDeleteManyError("2 objects stay, as they do where it is read-only"),
            StoreError,
            "a full disk",
        ),
        (weaviate.WeaviateBatchError("no space left on device"), DiskFull, "Free space"),
        (weaviate.WeaviateQueryError("no such class", "GRPC search"), StoreError, "no such class"),
    ],
)
def test_weaviate(error: Exception, kind: type[AthenaError], words: str) -> None:
    told = describe_weaviate(error, ADDRESSES)
    assert type(told) is kind
    assert words in str(told)
    assert "https://find.example" in str(told)
    assert "hush" not in str(told) and told.fix


def test_a_secret_that_an_error_quotes_is_left_out() -> None:
    addresses = ServerAddresses(
        mongodb_url="mongodb://me:hush%2Fhush@db.example/", weaviate_api_key="a-key", weaviate_url="http://w"
    )
    assert addresses.secrets == ("hush%2Fhush", "hush/hush", "a-key")
    for text in ("bad 'hush/hush'", "bad 'hush%2Fhush'", "bad 'a-key'"):
        assert "bad '…'" in str(describe_mongodb(mongo.OperationFailure(text), addresses))
        assert "bad '…'" in str(describe_weaviate(weaviate.WeaviateQueryError(text, "search"), addresses))


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://me:hush:hush@h/",
        "mongodb://me:hush/hush@h/",
        "mongodb://h:99999",
        "mongodb://h/?tls=true&tlsCAFile=/nowhere/ca.pem",
    ],
)
def test_a_url_of_mongodb_that_cannot_be_used(url: str) -> None:
    connections = Connections(ServerAddresses(mongodb_url=url))
    with (
        pytest.raises(ConfigurationError, match="ATHENA_MONGODB_URL cannot be used") as caught,
        connections.mongodb(),
    ):
        pass
    assert "hush" not in str(caught.value)


def test_the_cause_is_kept() -> None:
    cause = mongo.AutoReconnect("gone")
    with pytest.raises(StoreUnavailable) as caught, mongodb_errors(ADDRESSES):
        raise cause
    assert caught.value.__cause__ is cause
    with pytest.raises(StoreUnavailable), weaviate_errors(ADDRESSES):
        raise weaviate.WeaviateConnectionError("gone")


def test_addresses_hide_their_secrets_and_refuse_nonsense() -> None:
    assert "hush" not in repr(ADDRESSES) and "word" not in repr(ADDRESSES)
    assert (ADDRESSES.weaviate_port, ADDRESSES.weaviate_is_secure, ADDRESSES.grpc_host) == (
        443,
        True,
        "find.example",
    )
    with pytest.raises(ConfigurationError, match="ATHENA_WEAVIATE_URL"):
        ServerAddresses(mongodb_url="mongodb://h", weaviate_url="find.example")
    for url in ("http://find.example:99999", "http://find.example:x", "http://", "http://[::1"):
        with pytest.raises(ConfigurationError, match="ATHENA_WEAVIATE_URL"):
            ServerAddresses(mongodb_url="mongodb://h", weaviate_url=url)
    with pytest.raises(ConfigurationError, match="ATHENA_WEAVIATE_GRPC_PORT name the same port, 8080"):
        ServerAddresses(mongodb_url="mongodb://h", weaviate_url="http://h:8080", weaviate_grpc_port=8080)
    with pytest.raises(ConfigurationError, match="ATHENA_MONGODB_DATABASE"):
        ServerAddresses(mongodb_url="mongodb://h", mongodb_database="my-store")
