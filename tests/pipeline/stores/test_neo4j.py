"""The graph of memories in a real Neo4j: written, written again, and a server that is not there."""

from __future__ import annotations

import os
import uuid
from typing import Any
from urllib.parse import urlsplit

import pytest

from pipeline.errors import StoreUnavailable
from pipeline.stores.memories import Entity, Relation, UserMemories
from pipeline.stores.neo4j import export_graph
from tests.contracts.memories import memory
from tests.server_stores import is_open, require

NEO4J_URL = os.environ.get("ATHENA_TEST_NEO4J_URL", "bolt://127.0.0.1:7688")


def known(user: str, *labels: str) -> UserMemories:
    entities = tuple(Entity(id=name, user=user, name=name.title(), type="person") for name in ("ann", "tea"))
    relations = tuple(
        Relation(id=label, user=user, subject_id="ann", label=label, object_id="tea", at=1.0, memory_id="m")
        for label in labels
    )
    rows = (memory("Ann likes tea.", id="m", user=user),)
    return UserMemories(user=user, version=1, memories=rows, entities=entities, relations=relations)


@pytest.mark.server
def test_a_graph_is_written_in_the_place_of_the_former_one() -> None:
    neo4j = pytest.importorskip("neo4j")
    address = urlsplit(NEO4J_URL)
    is_up = is_open(address.hostname or "", address.port or 7687)
    require("" if is_up else f"not up: {NEO4J_URL}; `scripts/servers.sh start neo4j` starts it")
    user = f"user {uuid.uuid4()}"
    assert export_graph(known(user, "likes", "buys"), url=NEO4J_URL) == (2, 2)
    assert export_graph(known(user, "likes"), url=NEO4J_URL) == (2, 1)
    query = """
        MATCH (a:Entity {owner: $user})-[relation]->(b) RETURN a.name, relation.label, relation.memory, b.name
    """
    with neo4j.GraphDatabase.driver(NEO4J_URL, auth=("neo4j", "")) as driver:
        rows: list[Any] = [row.values() for row in driver.execute_query(query, user=user).records]
        driver.execute_query("MATCH (node {owner: $user}) DETACH DELETE node", user=user)
    assert rows == [["Ann", "likes", "Ann likes tea.", "Tea"]]


def test_a_server_that_is_not_there_is_named() -> None:
    pytest.importorskip("neo4j")
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:9"):
        export_graph(known("ann"), url="bolt://127.0.0.1:9")
