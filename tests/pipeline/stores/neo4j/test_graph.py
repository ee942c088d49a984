"""The graph in a real Neo4j: what stands there, who can read it, and what is left of what is forgotten."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.test_memory_graph import changes_at_random

from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.memories import Entity, MemoryChanges, Mention, Relation
from pipeline.stores.neo4j.graph import Neo4jGraph, Owner
from pipeline.stores.neo4j.memories import MemoriesWithGraph
from tests.contracts.memories import memory
from tests.server_stores import NEO4J_URL, with_neo4j

pytestmark = pytest.mark.server

CLARA = Entity(
    id="c", user="ann", name="Clara Vex", type="person", aliases=("my sister",), attributes={"age": "7"}
)
CELLO = Entity(id="o", user="ann", name="Montagnana cello", type="thing")
SAID = MemoryChanges(
    memories=(memory("My sister Clara Vex restores a Montagnana cello.", id="m"),),
    entities=(CLARA, CELLO),
    mentions=(Mention(id="n", user="ann", entity_id="c", at=1.5, memory_id="m", turn_id="t"),),
    relations=(
        Relation(id="r", user="ann", subject_id="c", label="restores", object_id="o", at=2.5, memory_id="m"),
    ),
)
FORGETTING = MemoryChanges(removed=("m", "c", "o", "n", "r"))
WORDS = ("Clara", "Vex", "sister", "Montagnana", "cello", "restores")


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[MemoriesWithGraph]:
    with closing(EmbeddedMemories(tmp_path / "athena.sqlite")) as store, with_neo4j(store) as both:
        yield both


def graph_of(memories: MemoriesWithGraph) -> Neo4jGraph:
    return memories._graph


def asked(memories: MemoriesWithGraph, statement: str, **given: Any) -> list[dict[str, Any]]:
    return graph_of(memories)._run(statement, store=memories.identity(), **given)


EVERYTHING = """
MATCH (state:Athena {store: $store})
MATCH (node:Athena {owner: state.id})
OPTIONAL MATCH (node)-[edge]->(other)
RETURN labels(node) AS labels, properties(node) AS node, type(edge) AS type, properties(edge) AS edge,
  other.id AS other
"""
NAMES = """
CALL db.labels() YIELD label RETURN label AS name
UNION CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType AS name
UNION CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey AS name
"""


def everything(memories: MemoriesWithGraph) -> list[str]:
    """All that is there of a store, and every name that the database knows."""
    rows = [*asked(memories, EVERYTHING), *asked(memories, NAMES)]
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def test_entities_stand_there_with_aliases_relations_and_who_mentions_them(
    memories: MemoriesWithGraph,
) -> None:
    memories.apply("ann", SAID)
    (found,) = asked(
        memories,
        """
        MATCH (state:Athena {store: $store, user: 'ann'})
        MATCH (place)-[mention:MENTIONS]->(one {owner: state.id})-[edge:RELATES_TO]->(other)
        RETURN one.name AS name, one.aliases AS aliases, one.type AS type, one.attributes AS attributes,
          edge.label AS label, edge.at AS at, other.name AS other, place.row AS place, mention.at AS mentioned
        """,
    )
    assert found == {
        "name": "Clara Vex",
        "aliases": ["my sister"],
        "type": "person",
        "attributes": '{"age": "7"}',
        "label": "restores",
        "at": 2.5,
        "other": "Montagnana cello",
        "place": "m",
        "mentioned": 1.5,
    }


def test_llama_indexs_own_readers_find_it(memories: MemoriesWithGraph) -> None:
    memories.apply("ann", SAID)
    store = graph_of(memories)._connected()
    (node,) = store.get(properties={"name": "Clara Vex", "user": "ann", "owner": owner_of(memories)})
    assert node.properties["aliases"] == ["my sister"]
    ((one, relation, other),) = store.get_rel_map([node], depth=2)
    assert (one.properties["name"], relation.label, other.properties["name"]) == (
        "Clara Vex",
        "RELATES_TO",
        "Montagnana cello",
    )


def owner_of(memories: MemoriesWithGraph, user: str = "ann") -> str:
    return Owner(memories.identity(), user).id


def test_nothing_is_left_of_what_is_forgotten_not_even_a_name(memories: MemoriesWithGraph) -> None:
    memories.apply("ann", SAID)
    assert [word for word in WORDS if word in "\n".join(everything(memories))] == list(WORDS)
    memories.forget("ann", FORGETTING, words=["Clara"])
    assert [word for word in WORDS if word in "\n".join(everything(memories))] == []
    assert asked(memories, EVERYTHING) == []


def test_changes_one_by_one_make_what_writing_anew_makes(memories: MemoriesWithGraph) -> None:
    for changes in changes_at_random(random.Random(7)):
        rows = {row.id: row for row in changes.relations}
        memories.apply("ann", replace(changes, relations=tuple(rows.values())))
        followed = everything(memories)
        owner = Owner(memories.identity(), "ann")
        known = memories.load("ann")
        assert graph_of(memories).replace(owner, known, before=known.version)
        assert everything(memories) == followed


def test_a_statement_decided_on_an_older_version_does_nothing(memories: MemoriesWithGraph) -> None:
    memories.apply("ann", SAID)
    graph, owner = graph_of(memories), Owner(memories.identity(), "ann")
    before = everything(memories)
    assert not graph.follow(owner, FORGETTING, before=0, version=2)
    assert not graph.replace(owner, memories.load("bob"), before=7)
    assert everything(memories) == before


def test_whoever_writes_at_once_leaves_both_in_step(memories: MemoriesWithGraph) -> None:
    def write(number: int) -> None:
        names = tuple(Entity(id=f"e{number}-{part}", user="ann", name=f"{number}") for part in range(3))
        memories.apply("ann", MemoryChanges(entities=names))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(12)))
    assert memories.version("ann") == 12
    assert graph_of(memories).version(Owner(memories.identity(), "ann")) == 12
    assert graph_of(memories).counts(memories.identity()) == (36, 0)


def test_two_stores_in_one_database_are_apart(memories: MemoriesWithGraph, tmp_path: Path) -> None:
    memories.apply("ann", SAID)
    path = tmp_path / "other.sqlite"
    with closing(EmbeddedMemories(path)) as store, with_neo4j(store) as other:
        other.apply("ann", MemoryChanges(entities=(CLARA,)))
        found = other.around("ann", ["c"], depth=2, most=9, version=1)
        assert found.distances == {"c": 0}
        other.forget("ann", MemoryChanges(removed=("c",)))
    assert memories.around("ann", ["c"], depth=2, most=9, version=1).distances == {"c": 0, "o": 1}


def test_doctor_says_what_is_there(memories: MemoriesWithGraph) -> None:
    memories.apply("ann", SAID)
    found = memories.examine()
    assert found.server.startswith("Neo4j/")
    assert (found.entities, found.relations, found.behind) == (2, 1, ())


KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.neo4j.address import GraphAddress
from pipeline.stores.neo4j.graph import Neo4jGraph
from pipeline.stores.neo4j.memories import MemoriesWithGraph
from tests.pipeline.stores.neo4j.test_graph import FORGETTING, SAID

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

path, url, what = sys.argv[1:]
memories = MemoriesWithGraph(EmbeddedMemories(Path(path)), Neo4jGraph(GraphAddress(neo4j_url=url)))
if what == "remember":
    Neo4jGraph.follow = die
    memories.apply("ann", SAID)
else:
    memories.apply("ann", SAID)
    if what == "before the store":
        EmbeddedMemories.forget = die
    else:
        Neo4jGraph.replace = die
    memories.forget("ann", FORGETTING)
"""


@pytest.mark.slow
@pytest.mark.kill
@pytest.mark.parametrize("what", ["remember", "before the store", "after the store"])
def test_a_kill_between_the_two_is_healed_at_the_next_start(
    what: str, memories: MemoriesWithGraph, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "athena.sqlite"), NEO4J_URL, what]
    root = Path(__file__).parents[4]
    done = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=False)
    assert done.returncode == -signal.SIGKILL
    left = "\n".join(everything(memories))
    assert "Clara" not in left  # not yet there, or not any more
    remembered = what != "after the store"
    assert bool(memories.load("ann").memories) == remembered
    assert ("Clara" in "\n".join(everything(memories))) == remembered
