"""Batches that fail in part, deletions with a maximum, results of versions that nobody sees: at the seam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter
from weaviate.exceptions import (
    WeaviateBatchError,
    WeaviateDeleteManyError,
    WeaviateInsertManyAllFailedError,
)

from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server import objects as module
from pipeline.stores.server.objects import (
    ATTEMPTS,
    BATCH_OBJECTS,
    MAX_RESULTS,
    FoundObject,
    NodeObjects,
    Query,
    best_visible,
    delete_where,
    insert_batch,
)
from tests.contracts.documents import MANIFEST, make_document

ANYTHING = Filter.by_property("version").equal("v")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_WAIT_S", 0.0)


@dataclass
class FakeData:
    """Fails objects whose names are in `failing`, as often as they are; deletes a few at a time."""

    failing: list[str] = field(default_factory=list)
    left: int = 0
    at_once: int = 3
    stuck: bool = False
    written: list[str] = field(default_factory=list)
    calls: int = 0

    def insert_many(self, objects: Sequence[Any]) -> Any:
        self.calls += 1
        errors = {}
        for position, item in enumerate(objects):
            name = item.properties["node"]
            if name in self.failing:
                self.failing.remove(name)
                errors[position] = SimpleNamespace(message=f"no room for {name}")
            else:
                self.written.append(name)
        if len(errors) == len(objects):
            raise WeaviateInsertManyAllFailedError("no room at all")
        return SimpleNamespace(errors=errors)

    def delete_many(self, where: Any) -> Any:
        self.calls += 1
        gone = 0 if self.stuck else min(self.at_once, self.left)
        matches, self.left = self.left, self.left - gone
        return SimpleNamespace(matches=matches, successful=gone)


def batch(*names: str) -> list[Any]:
    return [DataObject(properties={"node": name, "lexical": name}) for name in names]


def test_failed_objects_are_tried_again_and_only_they() -> None:
    data = FakeData(failing=["b", "d", "d"])
    insert_batch(data, batch("a", "b", "c", "d"))
    assert data.written == ["a", "c", "b", "d"]
    assert data.calls == 3


def test_a_batch_of_which_every_object_fails_is_tried_again() -> None:
    data = FakeData(failing=["a", "b"])
    insert_batch(data, batch("a", "b"))
    assert data.written == ["a", "b"]


def test_what_fails_for_good_is_an_error_with_its_reason() -> None:
    data = FakeData(failing=["b"] * ATTEMPTS)
    with pytest.raises(WeaviateBatchError, match=r"1 of 3 objects.*no room"):
        insert_batch(data, batch("a", "b", "c"))
    assert data.calls == ATTEMPTS


def test_deletions_go_on_until_nothing_is_left() -> None:
    data = FakeData(left=10)
    delete_where(data, ANYTHING)
    assert (data.left, data.calls) == (0, 5)  # 3 + 3 + 3 + 1, and one that finds nothing


def test_deletions_that_delete_nothing_are_an_error() -> None:
    with pytest.raises(WeaviateDeleteManyError, match="10 objects stay"):
        delete_where(FakeData(left=10, stuck=True), ANYTHING)


def ranking(*versions: str) -> Callable[[int], list[FoundObject]]:
    found = [
        FoundObject(f"{number:02}", "s", version, -float(number)) for number, version in enumerate(versions)
    ]
    return lambda size: found[:size]


def test_more_is_asked_for_where_versions_that_nobody_sees_are_among_the_best() -> None:
    query = ranking("old", "old", "old", "new", "new", "new", "new")
    assert [item.node_id for item in best_visible(query, 2, {"new"})] == ["03", "04"]
    assert [item.node_id for item in best_visible(query, 9, {"new"})] == ["03", "04", "05", "06"]
    assert best_visible(query, 2, set()) == []


def test_no_more_is_asked_for_than_weaviate_gives() -> None:
    asked: list[int] = []

    def query(size: int) -> list[FoundObject]:
        asked.append(size)
        return [FoundObject("n", "s", "old", 1.0)] * size

    assert best_visible(query, 50_000, {"new"}) == []
    assert asked == [MAX_RESULTS]


@pytest.mark.server
def test_a_document_of_many_batches_is_written_replaced_and_deleted(store: ServerStore) -> None:
    lines = [f"Line number{number} of many." for number in range(BATCH_OBJECTS * 2 + 7)]
    for text in ("first", "second"):
        with store.writing(MANIFEST) as writing:
            writing.replace(make_document("long.md", {"Long": [*lines, f"The {text} end."]}))
        assert store.sentences.count() == len(lines) + 1
        assert store.find_orphans().is_clean
    (leaves,) = store.sentences.of_sections([store.sections.document("long.md").sections[0].node_id]).values()
    assert [leaf.text for leaf in leaves] == [*lines, "The second end."]
    store.delete_document("long.md")
    assert store.find_orphans().is_clean


def test_all_queries_are_made_at_the_same_time() -> None:
    asked: list[list[str]] = []

    def run_all(calls: Sequence[Any]) -> list[list[FoundObject]]:
        asked.append([call.keywords["query"].words for call in calls])
        return [[] for _ in calls]

    addresses = ServerAddresses(mongodb_url="mongodb://h", weaviate_url="http://h")
    servers: Any = SimpleNamespace(weaviate=SimpleNamespace(run_all=run_all), addresses=addresses)
    queries = [Query("section", 1, (), words=word) for word in ("pump", "valve")]
    assert NodeObjects(servers, store="s", build="b").search(queries) == [[], []]
    assert asked == [["pump", "valve"]]
