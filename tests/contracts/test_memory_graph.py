"""Neighbourhoods: the same found in the process, and by Neo4j beside either store."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from memory.recalling.graph import neighbourhood
from memory.recalling.user_index import Indexes, UserIndex
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.memories import Entity, Memories, MemoryChanges, Mention, Relation
from tests.contracts.memories import memory
from tests.memory.fake_memories import FakeEncoder
from tests.server_stores import server_addresses, with_neo4j

SERVER = pytest.mark.server

# clara -- plays -- cello -- made of -- wood -- grows in -- forest -- near -- bonn;  rex is alone
NAMES = ("clara", "cello", "wood", "forest", "bonn", "rex")
EDGES = (
    ("clara", "plays", "cello"),
    ("cello", "made of", "wood"),
    ("wood", "grows in", "forest"),
    ("forest", "near", "bonn"),
)


@pytest.fixture(
    params=[
        "process",
        pytest.param("embedded+neo4j", marks=SERVER),
        pytest.param("server+neo4j", marks=SERVER),
    ]
)
def memories(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memories]:
    """An empty store, and what answers for its neighbourhoods."""
    with ExitStack() as opened:
        if request.param.startswith("server"):
            from pipeline.stores.server.memories import ServerMemories

            made: Memories = ServerMemories(opened.enter_context(server_addresses()))
        else:
            made = EmbeddedMemories(tmp_path / "athena.sqlite")
        opened.enter_context(closing(made))
        yield made if request.param == "process" else opened.enter_context(with_neo4j(made))


def entity(id_: str, *, user: str = "ann") -> Entity:
    return Entity(id=id_, user=user, name=id_.title(), type="thing", aliases=(f"the {id_}",))


def relation(id_: str, one: str, label: str, other: str, *, user: str = "ann") -> Relation:
    return Relation(id=id_, user=user, subject_id=one, label=label, object_id=other, at=float(id_[1:]))


def drawn(user: str = "ann") -> MemoryChanges:
    """The graph above, of which two memories speak."""
    return MemoryChanges(
        memories=(memory("Clara plays the cello.", id="m1", user=user), memory("Wood.", id="m2", user=user)),
        entities=tuple(entity(name, user=user) for name in NAMES),
        mentions=(
            Mention(id="1", user=user, entity_id="clara", at=1.0, memory_id="m1"),
            Mention(id="2", user=user, entity_id="cello", at=1.0, memory_id="m1"),
            Mention(id="3", user=user, entity_id="wood", at=2.0, memory_id="m2", turn_id="t"),
            Mention(id="4", user=user, entity_id="wood", at=2.0, turn_id="t"),
        ),
        relations=tuple(relation(f"r{n}", *edge, user=user) for n, edge in enumerate(EDGES)),
    )


def index_of(memories: Memories, user: str = "ann") -> UserIndex:
    return Indexes(memories, encoder=FakeEncoder).of(user)


def test_it_goes_both_ways_to_its_depth(memories: Memories) -> None:
    memories.apply("ann", drawn())
    index = index_of(memories)
    assert neighbourhood(index, ["wood"], depth=0).distances == {"wood": 0}
    assert neighbourhood(index, ["wood"], depth=1).distances == {"wood": 0, "cello": 1, "forest": 1}
    found = neighbourhood(index, ["wood"])
    assert found.distances == {"wood": 0, "cello": 1, "forest": 1, "clara": 2, "bonn": 2}
    assert [*found.distances.values()] == [0, 1, 1, 2, 2]
    assert [item.id for item in found.relations] == ["r3", "r2", "r1", "r0"]
    assert next(item.name for item in found.entities) == "Wood"
    assert found.direct == ("m2",)


def test_several_entities_have_one_neighbourhood(memories: Memories) -> None:
    memories.apply("ann", drawn())
    index = index_of(memories)
    found = neighbourhood(index, ["clara", "forest", "nobody"], depth=1)
    assert found.distances == {"clara": 0, "forest": 0, "cello": 1, "wood": 1, "bonn": 1}
    assert [item.id for item in found.relations] == ["r3", "r2", "r0"]
    assert found.direct == ("m1",)
    assert neighbourhood(index, ["rex"]).distances == {"rex": 0}
    assert neighbourhood(index, ["nobody"]).distances == {}


def test_aliases_lead_there(memories: Memories) -> None:
    memories.apply("ann", drawn())
    index = index_of(memories)
    named = [entity.id for name in ("the Clara", "REX", "Dario") if (entity := index.entity_named(name))]
    assert neighbourhood(index, named).distances == {"clara": 0, "rex": 0, "cello": 1, "wood": 2}


def test_users_with_the_same_ids_are_apart(memories: Memories) -> None:
    memories.apply("ann", drawn())
    memories.apply("bob", MemoryChanges(entities=(entity("clara", user="bob"), entity("rex", user="bob"))))
    memories.apply("bob", MemoryChanges(relations=(relation("r0", "clara", "has", "rex", user="bob"),)))
    assert neighbourhood(index_of(memories, "bob"), ["clara"]).distances == {"clara": 0, "rex": 1}
    memories.forget("bob", MemoryChanges(removed=("clara", "rex", "r0")))
    assert neighbourhood(index_of(memories), ["clara"]).distances == {"clara": 0, "cello": 1, "wood": 2}


def test_what_is_removed_leads_nowhere(memories: Memories) -> None:
    memories.apply("ann", drawn())
    memories.apply("ann", MemoryChanges(removed=("r1", "1")))
    found = neighbourhood(index_of(memories), ["clara"])
    assert (found.distances, found.direct) == ({"clara": 0, "cello": 1}, ())
    memories.forget("ann", MemoryChanges(removed=("cello", "r0", "2", "m1")))
    found = neighbourhood(index_of(memories), ["clara"])
    assert (found.distances, found.direct) == ({"clara": 0}, ())


def test_what_is_replaced_leads_elsewhere(memories: Memories) -> None:
    memories.apply("ann", drawn())
    memories.apply(
        "ann",
        MemoryChanges(
            relations=(relation("r0", "clara", "owns", "rex"),),
            mentions=(Mention(id="1", user="ann", entity_id="rex", at=1.0, memory_id="m1"),),
        ),
    )
    found = neighbourhood(index_of(memories), ["clara"])
    assert (found.distances, found.direct) == ({"clara": 0, "rex": 1}, ())


def test_circles_and_ends_that_nobody_knows(memories: Memories) -> None:
    memories.apply(
        "ann",
        MemoryChanges(
            entities=(entity("a"), entity("b")),
            relations=(
                relation("r1", "a", "is", "a"),
                relation("r2", "a", "beside", "b"),
                relation("r3", "b", "beside", "a"),
                relation("r4", "b", "near", "unknown"),
                relation("r5", "unknown", "near", "c"),
            ),
        ),
    )
    found = neighbourhood(index_of(memories), ["a"])
    assert found.distances == {"a": 0, "b": 1, "unknown": 2}
    assert [item.id for item in found.entities] == ["a", "b"]
    assert [item.id for item in found.relations] == ["r4", "r3", "r2", "r1"]
    memories.apply("ann", MemoryChanges(entities=(entity("unknown"), entity("c"))))
    assert neighbourhood(index_of(memories), ["a"], depth=3).distances == {
        "a": 0,
        "b": 1,
        "unknown": 2,
        "c": 3,
    }
    memories.apply("ann", MemoryChanges(removed=("unknown",)))
    assert neighbourhood(index_of(memories), ["c"]).distances == {"c": 0, "unknown": 1, "b": 2}


def test_no_more_than_was_asked_for_come_back(memories: Memories) -> None:
    spokes = [f"e{number}" for number in range(30)]
    memories.apply(
        "ann",
        MemoryChanges(
            entities=(entity("hub"), *map(entity, spokes)),
            relations=tuple(relation(f"r{n}", "hub", "has", spoke) for n, spoke in enumerate(spokes)),
        ),
    )
    index = index_of(memories)
    assert len(index.around(["hub"], depth=2, most=10).distances) == 10
    assert len(neighbourhood(index, ["hub"]).relations) == 30


def test_an_index_that_is_older_finds_what_is_still_there(memories: Memories) -> None:
    memories.apply("ann", drawn())
    index = index_of(memories)
    memories.apply("ann", MemoryChanges(removed=("r2",), entities=(entity("new"),)))
    assert neighbourhood(index, ["clara"]).distances == {"clara": 0, "cello": 1, "wood": 2}


def changes_at_random(chance: random.Random) -> Iterator[MemoryChanges]:
    """Changes as no program would make them: rows replaced, ends that are not there, ids used again."""
    ids = [f"e{number}" for number in range(12)]

    def some(most: int) -> Sequence[str]:
        return chance.sample(ids, chance.randrange(most))

    for _ in range(12):
        yield MemoryChanges(
            entities=tuple(replace(entity(id_), aliases=(chance.choice(ids),)) for id_ in some(6)),
            relations=tuple(
                relation(f"r{chance.randrange(20)}", chance.choice(ids), "is", chance.choice(ids))
                for _ in range(chance.randrange(6))
            ),
            mentions=tuple(
                Mention(
                    id=f"n{number}",
                    user="ann",
                    entity_id=chance.choice(ids),
                    at=1.0,
                    memory_id=chance.choice(["", "m1", "m2"]),
                    turn_id=chance.choice(["", "t"]),
                )
                for number in range(chance.randrange(4))
            ),
            removed=(*some(5), f"r{chance.randrange(20)}", f"n{chance.randrange(4)}"),
        )


@pytest.mark.parametrize("seed", range(2))
def test_whatever_was_changed_it_is_as_found_by_hand(memories: Memories, seed: int) -> None:
    chance = random.Random(seed)
    for changes in changes_at_random(chance):
        rows = {row.id: row for row in changes.relations}  # one id names one row
        memories.apply("ann", replace(changes, relations=tuple(rows.values())))
        known = memories.load("ann")
        by_hand = UserIndex(known)
        index = index_of(memories)
        asked_for = chance.sample(sorted(index.entities) or ["nobody"], 1)
        found, expected = neighbourhood(index, asked_for), neighbourhood(by_hand, asked_for)
        assert found.distances == expected.distances
        assert found.relations == expected.relations
        assert set(found.direct) == set(expected.direct)
