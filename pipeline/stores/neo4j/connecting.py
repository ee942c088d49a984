"""LlamaIndex's store for Neo4j, opened and closed; nothing of it that wants Neo4j's APOC plugin is used."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import neo4j
from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore

from pipeline.stores.neo4j.address import GraphAddress
from pipeline.stores.neo4j.errors import neo4j_errors, unavailable
from pipeline.stores.neo4j.statements import SCHEMA

CONNECT_S = 3.0
RETRIES_S = 3.0  # seconds in which a statement that met a lock or a lost connection is tried again


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
