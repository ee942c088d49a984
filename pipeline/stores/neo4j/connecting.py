"""LlamaIndex's store for Neo4j, opened and closed, and what its driver's errors mean for us.

Nothing of it that wants Neo4j's APOC plugin is used.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import neo4j
from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore
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
from pipeline.redaction import redacted
from pipeline.stores.neo4j.address import (
    DATABASE_SETTING,
    PASSWORD_SETTING,
    URL_SETTING,
    USER_SETTING,
    GraphAddress,
)
from pipeline.stores.neo4j.statements import SCHEMA

CONNECT_S = 3.0
RETRIES_S = 3.0  # seconds in which a statement that met a lock or a lost connection is tried again

_NO_DATABASE = "Neo.ClientError.Database.DatabaseNotFound"
_SECURITY = "Neo.ClientError.Security."
_MAX_DETAIL = 300
_REASON = re.compile(r"\(reason (?:\[Errno -?\d+\] )?([^()]+)\)")


def greet(address: GraphAddress) -> str:
    """What the server calls itself; raises `StoreUnavailable`."""
    credentials = (address.user, address.password)
    with neo4j_errors(address):
        try:
            with (
                neo4j.GraphDatabase.driver(address.url, auth=credentials, **_waiting()) as driver,
                driver.session(database=address.neo4j_database) as session,
            ):
                return str(session.run("RETURN 1").consume().server.agent)
        except ValueError as error:  # a name that nothing knows
            raise unavailable(address, str(error)) from error


def connect(address: GraphAddress) -> Neo4jPropertyGraphStore:
    """LlamaIndex's store over this address; raises `StoreUnavailable`."""
    greet(address)  # what cannot be reached, or lets nobody in, would leave its drivers open
    with neo4j_errors(address):
        store = Neo4jPropertyGraphStore(
            username=address.user,
            password=address.password,
            url=address.url,
            database=address.neo4j_database,
            refresh_schema=False,
            create_indexes=False,
            sanitize_query_output=False,  # which drops lists of more than 128
            **_waiting(),
        )
        _close_unused(store)
        for statement in SCHEMA:
            store.structured_query(statement)
    return store


def close(store: Neo4jPropertyGraphStore) -> None:
    """Close its connections."""
    store.close()


def _close_unused(store: Neo4jPropertyGraphStore) -> None:
    """Close its asynchronous driver, which it never does; in a thread, as this one may have a loop."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(store._async_driver.close())).result()


def _waiting() -> dict[str, Any]:
    return {
        "connection_timeout": CONNECT_S,
        "connection_acquisition_timeout": 2 * CONNECT_S,
        "max_transaction_retry_time": RETRIES_S,
    }


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
    text = redacted(" ".join(str(error).split())) or type(error).__name__
    if reason := _REASON.search(text):
        text = reason[1]
    return text[:_MAX_DETAIL].rstrip(".:, ")
