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
from pipeline.redaction import redacted, without_password
from pipeline.stores.server.addresses import MONGODB_FORM

LONGEST_DETAIL = 300
SETTINGS = {
    "MongoDB": "ATHENA_MONGODB_URL",
    "Weaviate": "ATHENA_WEAVIATE_URL, ATHENA_WEAVIATE_GRPC_PORT and ATHENA_WEAVIATE_API_KEY",
}

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
        "Name its certificate authority: as tlsCAFile=FILE in ATHENA_MONGODB_URL; for Weaviate in "
        "SSL_CERT_FILE and GRPC_DEFAULT_SSL_ROOTS_FILE_PATH.",
    ),
    (
        "code=14031;|no space left|disk is full|shard is read-?only|is read-only",
        DiskFull,
        "cannot write: its disk is full",
        "Free space there; it then accepts writes again, or set Weaviate's shards to READY.",
    ),
    (
        "could not find class",
        StoreError,
        "lacks the index that MongoDB names",
        "Make it again with `athena ingest FOLDER --rebuild`.",
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
def server_errors(name: str, url: str) -> Iterator[None]:
    """Raise the driver's errors in the block as `StoreError`, or `ConfigurationError` for a bad setting."""
    try:
        yield
    except pymongo.errors.ConfigurationError as error:
        raise ConfigurationError(
            f"{SETTINGS[name]} cannot be used: {_detail(error)}.", MONGODB_FORM
        ) from error
    except (
        pymongo.errors.PyMongoError,
        weaviate.exceptions.WeaviateBaseError,
        httpx.HTTPError,
        grpc.RpcError,
    ) as error:
        raise _described(error, name, url) from error


def _described(error: Exception, name: str, url: str) -> AthenaError:
    code = getattr(error, "code", None) or getattr(error, "status_code", None)
    if isinstance(error, pymongo.errors.BulkWriteError):
        code = next((item.get("code") for item in (error.details or {}).get("writeErrors", ())), code)
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    detail, server = _detail(error), f"{name} at '{without_password(url)}'"
    seen = f"code={code}; {kinds} {detail}".lower()
    for pattern, kind, text, fix in _CASES:
        if re.search(pattern, seen):
            return kind(f"{server} {text} ({detail}).", fix.format(settings=SETTINGS[name]))
    return StoreError(f"{server} refused: {detail}.", "Run `athena doctor`.")


def _detail(error: Exception) -> str:
    """Return a driver's message on one line, at most `LONGEST_DETAIL` characters, without secrets."""
    text = redacted(without_password(" ".join(str(error).split()))) or type(error).__name__
    return text[:LONGEST_DETAIL].rstrip(".:, ")
