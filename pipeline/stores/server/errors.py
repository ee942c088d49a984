"""Turns the errors of both drivers into ours: which server, which setting, what to do."""

from __future__ import annotations

import re
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

LONGEST_DETAIL = 300
_WEAVIATE_SETTINGS = f"{WEAVIATE_SETTING}, {WEAVIATE_GRPC_SETTING} and {WEAVIATE_KEY_SETTING}"

# A pattern in the code, the names of the error's classes and its message; our error; what the server does;
# what to do, with the names of the settings.
_CASES: tuple[tuple[str, type[AthenaError], str, str], ...] = (
    (  # MongoDB's UserNotFound, Unauthorized, AuthenticationFailed and Atlas
        "code=(11|13|18|8000|401|403);|unauthori[sz]ed|unauthenticated|anonymous|permission denied|"
        "insufficient permissions|authenticationfailed",
        StoreUnavailable,
        "refuses access: wrong user, password or key, or no right",
        "Correct {settings}.",
    ),
    (
        "certificate_verify_failed",
        StoreUnavailable,
        "has a certificate that is not trusted",
        f"Name its certificate authority: as tlsCAFile=FILE in {MONGODB_SETTING}; for Weaviate in "
        "SSL_CERT_FILE and GRPC_DEFAULT_SSL_ROOTS_FILE_PATH.",
    ),
    (
        "code=14031;|no space left|disk is full|shard is read-?only|is read-only",
        DiskFull,
        "cannot write: its disk is full",
        "Free space there; it then accepts writes again, or set Weaviate's shards to READY.",
    ),
    (
        "connectionfailure|transporterror|startuperror|weaviateconnectionerror|grpcunavailable|timeout|"
        "closedclient|retryerror|deadline exceeded|failed to connect|unavailable",
        StoreUnavailable,
        "does not answer",
        "Start it, or wait until it is up, and try again. Its address is in {settings}; for TLS, tls=true in "
        "MongoDB's or https in Weaviate's.",
    ),
)


@contextmanager
def mongodb_errors(addresses: ServerAddresses) -> Iterator[None]:
    """Raise pymongo's errors in the block as our own."""
    try:
        yield
    except pymongo.errors.ConfigurationError as error:  # it must not quote the URL
        raise ConfigurationError(
            f"{MONGODB_SETTING} cannot be used: {_detail(error, addresses)}.",
            "Give it as mongodb://USER:PASSWORD@HOST:PORT, with %XX for special characters.",
        ) from error
    except pymongo.errors.PyMongoError as error:
        raise _described(error, "MongoDB", addresses.mongodb_url, MONGODB_SETTING, addresses) from error


@contextmanager
def weaviate_errors(addresses: ServerAddresses) -> Iterator[None]:
    """Raise the errors of Weaviate's client in the block as our own."""
    try:
        yield
    except (weaviate.exceptions.WeaviateBaseError, httpx.HTTPError, grpc.RpcError) as error:
        raise _described(error, "Weaviate", addresses.weaviate_url, _WEAVIATE_SETTINGS, addresses) from error


def _described(
    error: Exception, name: str, url: str, settings: str, addresses: ServerAddresses
) -> AthenaError:
    code = getattr(error, "code", None) or getattr(error, "status_code", None)
    if isinstance(error, pymongo.errors.BulkWriteError):
        code = next((item.get("code") for item in (error.details or {}).get("writeErrors", ())), code)
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    detail, server = _detail(error, addresses), f"{name} at '{without_password(url)}'"
    seen = f"code={code}; {kinds} {detail}".lower()
    for pattern, kind, text, fix in _CASES:
        if re.search(pattern, seen):
            return kind(f"{server} {text} ({detail}).", fix.format(settings=settings))
    return StoreError(f"{server} refused: {detail}.", "Run `athena doctor`.")


def _detail(error: Exception, addresses: ServerAddresses) -> str:
    """One line of a driver's message, without secrets."""
    text = without_password(" ".join(str(error).split())) or type(error).__name__
    for secret in addresses.secrets:
        text = text.replace(secret, "…")
    return text[:LONGEST_DETAIL].rstrip(".:, ")
