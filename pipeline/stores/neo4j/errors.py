"""What the errors of Neo4j's driver mean for us: which setting, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from neo4j.exceptions import (
    AuthError,
    ClientError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)
from neo4j.exceptions import ConfigurationError as BadConfiguration

from pipeline.errors import AthenaError, ConfigurationError, StoreError, StoreUnavailable
from pipeline.redaction import heard
from pipeline.stores.neo4j.address import (
    DATABASE_SETTING,
    PASSWORD_SETTING,
    URL_SETTING,
    USER_SETTING,
    GraphAddress,
)

_NO_DATABASE = "Neo.ClientError.Database.DatabaseNotFound"
_SECURITY = "Neo.ClientError.Security."
_MAX_DETAIL = 300
_REASON = re.compile(r"\(reason (?:\[Errno -?\d+\] )?([^()]+)\)")


@contextmanager
def neo4j_errors(address: GraphAddress) -> Iterator[None]:
    """Turn the driver's errors in the block into our own."""
    try:
        yield
    except (Neo4jError, DriverError) as error:
        raise describe(error, address) from error


def describe(error: Neo4jError | DriverError, address: GraphAddress) -> AthenaError:
    """What an error of the driver means, and what to do about it."""
    detail = _short(error)
    code = (getattr(error, "code", None) or "") if isinstance(error, Neo4jError) else ""
    if isinstance(error, AuthError) or code.startswith(_SECURITY):
        return StoreUnavailable(
            f"{address.server} does not let us in: wrong user or password, or no right to this database.",
            f"Mend {USER_SETTING} and {PASSWORD_SETTING}, or what {URL_SETTING} says of them.",
        )
    if code == _NO_DATABASE:
        return StoreUnavailable(
            f"{address.server} has no database '{address.neo4j_database}'.",
            f"Name one that it has in {DATABASE_SETTING}.",
        )
    if isinstance(error, BadConfiguration):
        return ConfigurationError(f"{URL_SETTING} cannot be used: {detail}.", "Mend it.")
    if isinstance(error, ClientError):
        return StoreError(f"{address.server} refused: {detail}.", "Athena wants Neo4j 5.26 or newer.")
    if isinstance(error, ServiceUnavailable | SessionExpired | TransientError | DriverError):
        return unavailable(address, detail)
    return StoreError(f"{address.server} failed: {detail}.", "Run `athena doctor`.")


def unavailable(address: GraphAddress, detail: str) -> StoreUnavailable:
    """The error for a Neo4j that does not answer."""
    return StoreUnavailable(
        f"{address.server} does not answer ({detail}).",
        f"Start it, or wait until it is up, and try again; its address is the setting {URL_SETTING}. "
        "Left empty, the memory works without it.",
    )


def _short(error: Exception) -> str:
    """One line of an error's message, without any password; of a connection that failed, the reason alone."""
    text = heard(" ".join(str(error).split())) or type(error).__name__
    if reason := _REASON.search(text):
        text = reason[1]
    return text[:_MAX_DETAIL].rstrip(".:, ")
