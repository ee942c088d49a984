"""Turns the errors of both drivers into ours: which server, which setting, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
_START = "Start it, or wait until it is up, and try again."
_FULL = "Free space there; it then accepts writes again, or set its shards to READY."

Case = tuple[str, type[AthenaError], str, str]
"""A pattern in the driver's message, the names of the error's classes or its code; our error; what the
server does; what to do."""

_MONGODB: tuple[Case, ...] = (
    (  # UserNotFound, Unauthorized, AuthenticationFailed, Atlas
        "code=(11|13|18|8000);",
        StoreUnavailable,
        "refuses access: wrong user or password, or no right to this database",
        f"Correct them in {MONGODB_SETTING}.",
    ),
    ("code=14031;|no space left|disk is full", DiskFull, "cannot write: its disk is full", _FULL),
    ("documenttoolarge", StoreError, "takes no record of more than 16 MB", "Divide the document."),
    (
        "certificate_verify_failed",
        StoreUnavailable,
        "has a certificate that is not trusted",
        f"Name the file of its certificate authority in {MONGODB_SETTING}: …tls=true&tlsCAFile=FILE.",
    ),
    (
        "connectionfailure",
        StoreUnavailable,
        "does not answer",
        f"{_START} Its address is {MONGODB_SETTING}; tls=true in it must match the server.",
    ),
)
_WEAVIATE: tuple[Case, ...] = (
    (
        "code=40[13];|unauthori[sz]ed|unauthenticated|anonymous|permission denied|insufficient permissions|"
        "authenticationfailed",
        StoreUnavailable,
        "refuses access: a wrong key, none, or no right",
        f"Correct {WEAVIATE_KEY_SETTING}.",
    ),
    (
        "certificate_verify_failed",
        StoreUnavailable,
        "has a certificate that is not trusted",
        "Name its certificate authority in SSL_CERT_FILE and GRPC_DEFAULT_SSL_ROOTS_FILE_PATH.",
    ),
    (
        "enough weaviate nodes",
        StoreError,
        "has fewer nodes than copies are wanted",
        "Lower ATHENA_WEAVIATE_REPLICAS, or add nodes to its cluster.",
    ),
    ("no space left", DiskFull, "cannot write: its disk is full", _FULL),
    ("read-?only", StoreError, "is read-only, as after a full disk", _FULL),
    (
        "transporterror|startuperror|weaviateconnectionerror|grpcunavailable|timeout|closedclient|retryerror|"
        "deadline exceeded|failed to connect|unavailable",
        StoreUnavailable,
        "does not answer",
        f"{_START} Its addresses are {WEAVIATE_SETTING} and {WEAVIATE_GRPC_SETTING}; with TLS the URL begins "
        "with https.",
    ),
)


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
    if isinstance(error, pymongo.errors.ConfigurationError | ValueError | OSError):
        return ConfigurationError(  # it must not quote a URL that cannot be read
            f"{MONGODB_SETTING} cannot be used: {_detail(error, addresses)}.",
            "Give it as mongodb://USER:PASSWORD@HOST:PORT, with %XX for special characters.",
        )
    code = getattr(error, "code", None)
    if isinstance(error, pymongo.errors.BulkWriteError):
        code = next((item.get("code") for item in (error.details or {}).get("writeErrors", ())), code)
    server = f"MongoDB at '{without_password(addresses.mongodb_url)}'"
    return _described(f"code={code};", error, _MONGODB, server, _detail(error, addresses))


def describe_weaviate(error: Exception, addresses: ServerAddresses) -> AthenaError:
    """Our error for one of Weaviate's client, with advice."""
    code = getattr(error, "status_code", None)
    server = f"Weaviate at '{without_password(addresses.weaviate_url)}'"
    return _described(f"code={code};", error, _WEAVIATE, server, _detail(error, addresses))


def _described(code: str, error: Exception, cases: Sequence[Case], server: str, detail: str) -> AthenaError:
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    seen = f"{code} {kinds} {detail}".lower()
    for pattern, kind, what, fix in cases:
        if re.search(pattern, seen):
            return kind(f"{server} {what} ({detail}).", fix)
    return StoreError(f"{server} refused: {detail}.", "Run `athena doctor`.")


def _detail(error: Exception, addresses: ServerAddresses) -> str:
    """One line of a driver's message, without secrets."""
    text = without_password(" ".join(str(error).split())) or type(error).__name__
    for secret in addresses.secrets:
        text = text.replace(secret, "…")
    return text[:LONGEST_DETAIL].rstrip(".:, ")
