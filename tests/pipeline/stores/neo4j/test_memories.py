"""Rows in a store and their graph beside it: in step after every change, outage and death."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

import pytest

from pipeline.errors import ErasureIncomplete, MemoriesChanged, StoreUnavailable
from pipeline.stores.memories import Entity, MemoryChanges, Mention, Relation
from pipeline.stores.neo4j.graph import Owner
from pipeline.stores.neo4j.memories import MemoriesWithGraph
from tests.contracts.memories import adding, memory
from tests.memory.fake_memories import FakeMemories
from tests.pipeline.stores.neo4j.fake_graph import FakeGraph, Killed

ANN = Owner("fake", "ann")
CLARA = Entity(id="clara", user="ann", name="Clara", aliases=("my sister",))
CELLO = Entity(id="cello", user="ann", name="cello")
PLAYS = Relation(
    id="r", user="ann", subject_id="clara", label="plays", object_id="cello", at=1, memory_id="m"
)
NAMED = Mention(id="n", user="ann", entity_id="clara", at=1.0, memory_id="m")
SAID = MemoryChanges(
    memories=(memory("Clara plays the cello.", id="m"),),
    entities=(CLARA, CELLO),
    mentions=(NAMED,),
    relations=(PLAYS,),
)
FORGETTING = MemoryChanges(removed=("m", "clara", "cello", "n", "r"))
ALL = {"clara", "cello", "n", "r"}


@pytest.fixture
def store() -> FakeMemories:
    return FakeMemories()


@pytest.fixture
def graph() -> FakeGraph:
    return FakeGraph()


@pytest.fixture
def both(store: FakeMemories, graph: FakeGraph) -> MemoriesWithGraph:
    return opened(store, graph)


def opened(store: FakeMemories, graph: FakeGraph) -> MemoriesWithGraph:
    """As another process opens them."""
    return MemoriesWithGraph(cast("Any", store), cast("Any", graph))


def killed() -> None:
    raise Killed


def assert_in_step(store: FakeMemories, graph: FakeGraph, user: str = "ann") -> None:
    known = store.load(user)
    expected = {row.id for row in (*known.entities, *known.mentions, *known.relations)}
    assert graph.ids(Owner("fake", user)) == expected
    assert graph.versions_of.get(Owner("fake", user), 0) == known.version


def test_a_change_is_followed_row_by_row(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", SAID)
    both.apply("ann", MemoryChanges(relations=(replace(PLAYS, label="sells"),), removed=("n",)))
    both.apply("ann", adding(memory("Tea.")))  # one without names
    both.load("ann")
    assert_in_step(store, graph)
    assert graph.ids(ANN) == {"clara", "cello", "r"}
    assert "replace" not in graph.done  # nothing had to be written anew


def test_turns_that_were_looked_at_are_no_change(both: MemoriesWithGraph, graph: FakeGraph) -> None:
    graph.is_up = False
    both.apply("ann", MemoryChanges(remembered=("t",)))


def test_what_is_forgotten_leaves_the_graph_first(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", SAID)
    seen = []
    store.before_apply = lambda: seen.append(graph.ids(ANN))
    both.forget("ann", FORGETTING, words=["cello"])
    assert seen == [set()]
    assert store.overwritten == ["cello"]
    assert_in_step(store, graph)


def test_what_is_reworded_leaves_it_too_and_comes_back_otherwise(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", SAID)
    seen = []
    store.before_apply = lambda: seen.append(graph.ids(ANN))
    renamed = replace(CLARA, aliases=())
    both.forget("ann", MemoryChanges(entities=(renamed,), removed=("n",)))
    assert seen == [{"cello", "r"}]
    assert graph.rows[ANN]["clara"] == renamed
    assert_in_step(store, graph)


def test_nothing_changes_while_it_is_down(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", SAID)
    graph.is_up = False
    for change in (
        lambda: both.apply("ann", adding(memory("Tea."))),
        lambda: both.forget("ann", FORGETTING),
        lambda: both.around("ann", ["clara"], depth=2, most=9, version=1),
    ):
        with pytest.raises(StoreUnavailable, match="Start it"):
            change()
    assert opened(store, graph).load("ann") == store.load("ann")
    assert store.version("ann") == 1
    graph.is_up = True
    assert_in_step(store, graph)


def test_one_that_goes_down_in_the_middle_is_behind_and_the_change_stands(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph, caplog: pytest.LogCaptureFixture
) -> None:
    store.before_apply = lambda: setattr(graph, "is_up", False)
    with caplog.at_level(logging.WARNING):
        assert both.apply("ann", SAID) == 1
    assert "behind" in caplog.text
    graph.is_up = True
    assert both.load("ann").version == 1
    assert_in_step(store, graph)


@pytest.mark.parametrize("moment", ["follow", "replace", "version"])
def test_a_death_between_the_two_is_healed_at_the_next_start(
    moment: str, both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", SAID)
    later = MemoryChanges(entities=(replace(CLARA, id="bob", name="Bob"),), removed=("n",))
    store.before_apply = lambda: graph.on.__setitem__(moment, killed)
    change = both.apply if moment == "follow" else both.forget
    with pytest.raises(Killed):
        change("ann", later)
    assert "n" not in graph.ids(ANN) or moment == "follow"
    graph.on.clear()
    opened(store, graph).load("somebody else")
    assert_in_step(store, graph)
    assert "bob" in graph.ids(ANN)


def test_a_death_before_the_store_forgets_loses_nothing(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", SAID)
    store.before_apply = killed
    with pytest.raises(Killed):
        both.forget("ann", FORGETTING)
    assert graph.ids(ANN) == set()
    assert opened(store, graph).load("ann").entities == (CLARA, CELLO)
    assert graph.ids(ANN) == ALL


def test_who_heals_while_something_is_forgotten_brings_nothing_back(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", SAID)
    store.before_apply = lambda: opened(store, graph).load("ann") and None
    both.forget("ann", FORGETTING)
    assert graph.ids(ANN) == set()
    assert_in_step(store, graph)


def test_a_process_without_neo4j_is_made_up_for(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", SAID)
    store.apply("ann", FORGETTING)
    store.apply("bob", MemoryChanges(entities=(replace(CLARA, user="bob"),)))
    assert opened(store, graph).examine().behind == ("ann", "bob")
    assert_in_step(store, graph)
    assert_in_step(store, graph, "bob")
    assert both.examine().behind == ()


def test_what_is_asked_of_an_older_graph_is_asked_again(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", SAID)
    store.apply("ann", MemoryChanges(entities=(replace(CLARA, id="bob"),)))
    found = both.around("ann", ["bob"], depth=2, most=9, version=2)
    assert found.distances == {"bob": 0}
    assert_in_step(store, graph)


def test_a_restored_backup_is_followed_backwards(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", MemoryChanges(entities=(CELLO,)))
    backup = dict(store.of)
    both.apply("ann", MemoryChanges(entities=(CLARA,)))
    store.of = backup
    both.load("ann")
    assert graph.ids(ANN) == {"cello"}


def test_a_change_that_is_refused_changes_neither(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph
) -> None:
    both.apply("ann", SAID)
    with pytest.raises(MemoriesChanged):
        both.apply("ann", MemoryChanges(removed=("r",)), expected=7)
    with pytest.raises(MemoriesChanged):
        store.before_apply = lambda: store.apply("ann", adding(memory("Tea."))) and None
        both.apply("ann", MemoryChanges(removed=("r",)), expected=1)
    both.load("ann")
    assert_in_step(store, graph)
    with pytest.raises(ValueError, match="'bob'"):
        both.apply("ann", MemoryChanges(entities=(replace(CLARA, user="bob"),)))


def test_bytes_that_are_left_in_a_file_are_said_and_the_graph_is_done(
    both: MemoriesWithGraph, store: FakeMemories, graph: FakeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    both.apply("ann", SAID)

    def forget(user: str, changes: MemoryChanges, **_: object) -> None:
        store.apply(user, changes)
        raise ErasureIncomplete("Bytes are left.")

    monkeypatch.setattr(store, "forget", forget)
    with pytest.raises(ErasureIncomplete):
        both.forget("ann", FORGETTING)
    assert_in_step(store, graph)


def test_it_closes_both(both: MemoriesWithGraph, graph: FakeGraph) -> None:
    both.close()
    assert graph.done == ["close"]
