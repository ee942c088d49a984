"""What the errors of both servers mean for us: which server, which setting, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pymongo.errors
import weaviate.exceptions

from pipeline.errors import AthenaError, ConfigurationError, DiskFull, StoreError, StoreUnavailable
from pipeline.redaction import without_password
from pipeline.stores.server.addresses import (
    MONGODB_SETTING,
    WEAVIATE_CA_SETTING,
    WEAVIATE_GRPC_SETTING,
    WEAVIATE_KEY_SETTING,
    WEAVIATE_SETTING,
    ServerAddresses,
)

# MongoDB's error codes.
_NO_AUTHENTICATION = frozenset({11, 13, 18, 8000})  # UserNotFound, Unauthorized, AuthenticationFailed, Atlas
_DISK_FULL = frozenset({14031})
_DISK_FULL_WORDS = ("no space left", "disk is full")

_NO_ENTRY = (  # what Weaviate says, by gRPC in words only
    "unauthorized",
    "unauthenticated",
    "anonymous",
    "permission denied",
    "insufficient permissions",
)

_FEW_NODES = "enough weaviate nodes"

_WAIT = "Start it, or wait until it is up, and try again"
_UNTRUSTED = "certificate_verify_failed"  # OpenSSL's name of it, in the messages of both clients
_MAX_DETAIL = 300


@contextmanager
def mongodb_errors(addresses: ServerAddresses) -> Iterator[None]:
    """Turn pymongo's errors in the block into our own."""
    try:
        yield
    except pymongo.errors.PyMongoError as error:
        raise describe_mongodb(error, addresses) from error


@contextmanager
def weaviate_errors(addresses: ServerAddresses) -> Iterator[None]:
    """Turn the errors of Weaviate's client in the block into our own."""
    try:
        yield
    except (weaviate.exceptions.WeaviateBaseError, httpx.HTTPError) as error:
        raise describe_weaviate(error, addresses) from error


def describe_mongodb(error: pymongo.errors.PyMongoError, addresses: ServerAddresses) -> AthenaError:
    """What an error of pymongo means, and what to do about it."""
    server = f"MongoDB at '{without_password(addresses.mongodb_url)}'"
    code = getattr(error, "code", None)
    if isinstance(error, pymongo.errors.BulkWriteError):
        code = next((item.get("code") for item in (error.details or {}).get("writeErrors", ())), code)
    detail = _short(error, addresses)
    if isinstance(error, pymongo.errors.ConfigurationError):  # InvalidURI is one
        return unusable_mongodb(error, addresses)
    if code in _NO_AUTHENTICATION:
        return StoreUnavailable(
            f"{server} does not let us in: wrong user or password, or no right to this database.",
            f"Mend them in {MONGODB_SETTING}.",
        )
    if isinstance(error, pymongo.errors.NotPrimaryError):
        return StoreUnavailable(
            f"{server} cannot be written: it is a read-only replica.",
            f"Name the primary, or the whole replica set, in {MONGODB_SETTING}.",
        )
    if code in _DISK_FULL or any(words in detail.lower() for words in _DISK_FULL_WORDS):
        return DiskFull(
            f"{server} cannot write: its disk is full.",
            "Free some space there and try again: what was stored before is whole.",
        )
    if isinstance(error, pymongo.errors.DocumentTooLarge):
        return StoreError(
            f"{server} takes no record of more than 16 MB: {detail}.", "Divide the document and ingest again."
        )
    if isinstance(error, pymongo.errors.ConnectionFailure):  # time-outs and server selection are
        return _unreachable_mongodb(server, detail)
    return StoreError(f"{server} refused: {detail}.", "Run `athena doctor`.")


def unusable_mongodb(error: Exception, addresses: ServerAddresses) -> ConfigurationError:
    """The error for a URL of MongoDB that is none, or that names files which cannot be read."""
    return ConfigurationError(
        f"{MONGODB_SETTING} cannot be used: {_short(error, addresses)}.",
        "Give it as mongodb://USER:PASSWORD@HOST:PORT, with %XX for special characters of a password.",
    )


def _unreachable_mongodb(server: str, detail: str) -> StoreUnavailable:
    if _UNTRUSTED in detail.lower():
        return StoreUnavailable(
            f"The certificate of {server} is not trusted ({detail}).",
            f"Give the file of its certificate authority in {MONGODB_SETTING}: …tls=true&tlsCAFile=FILE.",
        )
    hint = ""
    if "connection closed" in detail:
        hint = " Where it wants TLS, the URL says tls=true."
    elif "SSL:" in detail:
        hint = " Where it has no TLS, the URL does not say tls=true."
    return StoreUnavailable(
        f"{server} does not answer ({detail}).",
        f"{_WAIT}; its address is the setting {MONGODB_SETTING}.{hint}",
    )


def describe_weaviate(error: Exception, addresses: ServerAddresses) -> AthenaError:
    """What an error of Weaviate's client means, and what to do about it."""
    server = f"Weaviate at '{without_password(addresses.weaviate_url)}'"
    detail = _short(error, addresses)
    lower = detail.lower()
    status = getattr(error, "status_code", None)
    if status in (401, 403) or any(word in lower for word in _NO_ENTRY):
        return StoreUnavailable(
            f"{server} does not let us in: wrong key, or no right.", f"Mend {WEAVIATE_KEY_SETTING}."
        )
    if isinstance(error, weaviate.exceptions.AuthenticationFailedError):
        return StoreUnavailable(f"{server} asks for a key.", f"Set {WEAVIATE_KEY_SETTING}.")
    if _UNTRUSTED in lower:
        return untrusted(addresses, detail)
    if _FEW_NODES in lower:
        return StoreError(
            f"{server} has fewer servers than copies are wanted ({detail}).",
            "Lower ATHENA_WEAVIATE_REPLICAS, or add servers to its cluster.",
        )
    if "no space left" in lower:
        return DiskFull(  # the logs of its vector index stay closed, and the end of them may be lost
            f"{server} cannot write: its disk is full ({detail}).",
            "Free some space there, restart it and ingest again: that also mends what it may have lost.",
        )
    if "read-only" in lower or "readonly" in lower:
        return StoreError(
            f"{server} cannot write: it is read-only or its disk is full ({detail}).",
            "Free some space there: it then opens its shards by itself. If it does not, set them to READY.",
        )
    if "http request to an https server" in lower:
        return unavailable(addresses, "it wants TLS: let the URL begin with https://")
    if _is_connection(error) or any(word in lower for word in ("deadline exceeded", "failed to connect")):
        return unavailable(addresses, detail)
    return StoreError(f"{server} refused: {detail}.", "Run `athena doctor`.")


def unavailable(addresses: ServerAddresses, detail: str) -> StoreUnavailable:
    """The error for a Weaviate that does not answer."""
    return StoreUnavailable(
        f"Weaviate at '{without_password(addresses.weaviate_url)}' does not answer ({detail}).",
        f"{_WAIT}; its address is the settings {WEAVIATE_SETTING} and {WEAVIATE_GRPC_SETTING}.",
    )


def untrusted(addresses: ServerAddresses, detail: str) -> StoreUnavailable:
    """The error for a Weaviate whose certificate is not to be trusted."""
    server = f"Weaviate at '{without_password(addresses.weaviate_url)}'"
    return StoreUnavailable(
        f"The certificate of {server} is not trusted ({detail}).",
        f"Give the file of its certificate authority as {WEAVIATE_CA_SETTING}, and its host in "
        f"{WEAVIATE_SETTING} as the certificate has it.",
    )


def _is_connection(error: Exception) -> bool:
    kinds = (
        httpx.TransportError,
        weaviate.exceptions.WeaviateStartUpError,
        weaviate.exceptions.WeaviateConnectionError,
        weaviate.exceptions.WeaviateGRPCUnavailableError,
        weaviate.exceptions.WeaviateTimeoutError,
        weaviate.exceptions.WeaviateClosedClientError,
        weaviate.exceptions.WeaviateRetryError,
    )
    return isinstance(error, kinds)


def _short(error: Exception, addresses: ServerAddresses) -> str:
    """One line of an error's message, without any password."""
    text = without_password(" ".join(str(error).split())) or type(error).__name__
    for secret in addresses.secrets:
        text = text.replace(secret, "…")
    return text[:_MAX_DETAIL].rstrip(".:, ")
