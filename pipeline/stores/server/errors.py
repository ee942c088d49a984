"""Turns the errors of both drivers into ours: which server, which setting, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import grpc  # type: ignore[import-untyped]
import httpx
import pymongo.errors
import weaviate.exceptions

from pipeline.errors import AthenaError, ConfigurationError, DiskFull, StoreError, StoreUnavailable
from pipeline.redaction import without_password
from pipeline.stores.server.addresses import (
    MONGODB_SETTING,
    WEAVIATE_GRPC_SETTING,
    WEAVIATE_KEY_SETTING,
    WEAVIATE_SETTING,
    ServerAddresses,
)

# MongoDB's error codes: UserNotFound, Unauthorized, AuthenticationFailed, Atlas; OutOfDiskSpace.
_NOT_ALLOWED = frozenset({11, 13, 18, 8000})
_DISK_FULL = 14031

# Weaviate's messages; gRPC gives no codes for them.
_NOT_ALLOWED_WORDS = (
    "unauthorized",
    "unauthenticated",
    "anonymous",
    "permission denied",
    "insufficient permissions",
)
_TOO_FEW_NODES = "enough weaviate nodes"
_UNREACHABLE_WORDS = ("deadline exceeded", "failed to connect", "unavailable")

_UNTRUSTED = "certificate_verify_failed"  # OpenSSL's words, in the messages of both drivers
_WAIT = "Start it, or wait until it is up, and try again"
_LONGEST_DETAIL = 300


@contextmanager
def mongodb_errors(addresses: ServerAddresses) -> Iterator[None]:
    """Raise pymongo's errors in the block as our own."""
    try:
        yield
    except pymongo.errors.PyMongoError as error:
        raise describe_mongodb(error, addresses) from error


@contextmanager
def weaviate_errors(addresses: ServerAddresses) -> Iterator[None]:
    """Raise the errors of Weaviate's client in the block as our own."""
    try:
        yield
    except (weaviate.exceptions.WeaviateBaseError, httpx.HTTPError, grpc.RpcError) as error:
        raise describe_weaviate(error, addresses) from error


def describe_mongodb(error: Exception, addresses: ServerAddresses) -> AthenaError:
    """Our error for one of pymongo's, with advice."""
    server = f"MongoDB at '{without_password(addresses.mongodb_url)}'"
    detail = _detail(error, addresses)
    code = _mongodb_code(error)
    match error:
        case pymongo.errors.ConfigurationError() | ValueError() | OSError():  # an unusable URL or file in it
            return ConfigurationError(
                f"{MONGODB_SETTING} cannot be used: {detail}.",
                "Give it as mongodb://USER:PASSWORD@HOST:PORT, with %XX for special characters.",
            )
        case _ if code in _NOT_ALLOWED:
            return StoreUnavailable(
                f"{server} refuses access: wrong user or password, or no right to this database.",
                f"Correct them in {MONGODB_SETTING}.",
            )
        case _ if code == _DISK_FULL or "no space left" in detail.lower() or "disk is full" in detail.lower():
            return DiskFull(f"{server} cannot write: its disk is full.", "Free space there and try again.")
        case pymongo.errors.DocumentTooLarge():
            return StoreError(
                f"{server} takes no record of more than 16 MB: {detail}.", "Divide the document."
            )
        case pymongo.errors.ConnectionFailure() if _UNTRUSTED in detail.lower():
            return StoreUnavailable(
                f"The certificate of {server} is not trusted ({detail}).",
                f"Name the file of its certificate authority in {MONGODB_SETTING}: …tls=true&tlsCAFile=FILE.",
            )
        case pymongo.errors.ConnectionFailure():
            return StoreUnavailable(
                f"{server} does not answer ({detail}).",
                f"{_WAIT}. Its address is {MONGODB_SETTING}; tls=true in it must match the server.",
            )
    return StoreError(f"{server} refused: {detail}.", "Run `athena doctor`.")


def describe_weaviate(error: Exception, addresses: ServerAddresses) -> AthenaError:
    """Our error for one of Weaviate's client, with advice."""
    server = f"Weaviate at '{without_password(addresses.weaviate_url)}'"
    detail = _detail(error, addresses)
    words = detail.lower()
    if getattr(error, "status_code", None) in (401, 403) or _has(words, _NOT_ALLOWED_WORDS):
        return StoreUnavailable(
            f"{server} refuses access: wrong key, or no right.", f"Correct {WEAVIATE_KEY_SETTING}."
        )
    if isinstance(error, weaviate.exceptions.AuthenticationFailedError):
        return StoreUnavailable(f"{server} asks for a key.", f"Set {WEAVIATE_KEY_SETTING}.")
    if _UNTRUSTED in words:
        return StoreUnavailable(
            f"The certificate of {server} is not trusted ({detail}).",
            "Name its certificate authority in SSL_CERT_FILE and GRPC_DEFAULT_SSL_ROOTS_FILE_PATH.",
        )
    if _TOO_FEW_NODES in words:
        return StoreError(
            f"{server} has fewer nodes than copies are wanted ({detail}).",
            "Lower ATHENA_WEAVIATE_REPLICAS, or add nodes to its cluster.",
        )
    if "no space left" in words:
        return DiskFull(f"{server} cannot write: its disk is full ({detail}).", "Free space and try again.")
    if "read-only" in words or "readonly" in words:
        return StoreError(
            f"{server} cannot write: it is read-only, as after a full disk ({detail}).",
            "Free space there; it then accepts writes again, or set its shards to READY.",
        )
    if _is_connection_error(error) or _has(words, _UNREACHABLE_WORDS):
        return StoreUnavailable(
            f"{server} does not answer ({detail}).",
            f"{_WAIT}. Its addresses are {WEAVIATE_SETTING} and {WEAVIATE_GRPC_SETTING}; "
            "with TLS the URL begins with https.",
        )
    return StoreError(f"{server} refused: {detail}.", "Run `athena doctor`.")


def _mongodb_code(error: Exception) -> int | None:
    if isinstance(error, pymongo.errors.BulkWriteError):
        return next((item.get("code") for item in (error.details or {}).get("writeErrors", ())), error.code)
    return getattr(error, "code", None)


def _is_connection_error(error: Exception) -> bool:
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


def _has(words: str, any_of: tuple[str, ...]) -> bool:
    return any(one in words for one in any_of)


def _detail(error: Exception, addresses: ServerAddresses) -> str:
    """One line of a driver's message, without secrets."""
    text = without_password(" ".join(str(error).split())) or type(error).__name__
    for secret in addresses.secrets:
        text = text.replace(secret, "…")
    return text[:_LONGEST_DETAIL].rstrip(".:, ")
