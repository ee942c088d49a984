"""The graph of a user's memories, written to Neo4j once, on demand, by LlamaIndex's property graph store."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pipeline.errors import StoreUnavailable, extra_for
from pipeline.redaction import redacted

if TYPE_CHECKING:
    from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore

    from pipeline.stores.memories import UserMemories

# LlamaIndex's own upserts need the APOC plugin; these need none.
CLEAR = "MATCH (node:Entity {owner: $owner}) DETACH DELETE node"
ENTITIES = "UNWIND $rows AS row CREATE (node:Entity {owner: $owner}) SET node += row"
RELATIONS = """
    UNWIND $rows AS row
    MATCH (a:Entity {owner: $owner, id: row.subject_id}), (b:Entity {owner: $owner, id: row.object_id})
    CREATE (a)-[:RELATES_TO {label: row.label, at: row.at, memory: row.memory}]->(b)
"""
USER = "neo4j"


def export_graph(known: UserMemories, *, url: str, password: str = "") -> tuple[int, int]:
    """Replace a user's graph in Neo4j, and return how many entities and relations were written.

    An entity is a node `(:Entity {owner, id, name, type})`, a relation `-[:RELATES_TO {label, at, memory}]->`
    with the text of its memory. Raises `StoreUnavailable` if Neo4j cannot be reached or refuses the graph,
    `ConfigurationError` if the package is not installed.
    """
    with extra_for("The graph in Neo4j", "neo4j"):
        from neo4j.exceptions import DriverError, Neo4jError
    entities, relations = _rows(known)
    try:
        with closing(_open(url, password)) as store:
            for statement, rows in ((CLEAR, []), (ENTITIES, entities), (RELATIONS, relations)):
                store.structured_query(statement, param_map={"owner": known.user, "rows": rows})
    except (DriverError, Neo4jError, ValueError) as error:  # ValueError: a name that no server has
        raise StoreUnavailable(
            f"Cannot write the graph to Neo4j at '{url}': {redacted(str(error))[:300]}",
            "Check that it runs, and give --url and ATHENA_NEO4J_PASSWORD.",
        ) from error
    return len(entities), len(relations)


def _rows(known: UserMemories) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the properties of nodes and relationships; relations that lack an entity are left out."""
    texts = {memory.id: memory.text for memory in known.memories}
    entities = [{"id": item.id, "name": item.name, "type": item.type} for item in known.entities]
    ids = {item.id for item in known.entities}
    relations = [
        asdict(item) | {"memory": texts.get(item.memory_id, "")}
        for item in known.relations
        if {item.subject_id, item.object_id} <= ids
    ]
    return entities, relations


def _open(url: str, password: str) -> Neo4jPropertyGraphStore:
    """Connect, and return LlamaIndex's store; its asynchronous driver is closed, because nothing uses it."""
    import neo4j
    from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore

    with neo4j.GraphDatabase.driver(url, auth=(USER, password)) as driver:
        driver.verify_connectivity()
    # Schema and indexes need the APOC plugin.
    store = Neo4jPropertyGraphStore(USER, password, url, refresh_schema=False, create_indexes=False)
    with ThreadPoolExecutor(1) as thread:  # the current thread may run an event loop
        thread.submit(lambda: asyncio.run(store._async_driver.close())).result()
    return store
