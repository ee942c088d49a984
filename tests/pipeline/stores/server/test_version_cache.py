"""What is kept of the servers' answers: bounded, right after every change, and worth it."""

from __future__ import annotations

from contextlib import closing
from unittest.mock import Mock, patch

import pytest

from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server.objects import NodeObjects
from pipeline.stores.server.queries import Fetched
from pipeline.stores.server.version_cache import LeafCache, Leaves, section_cache
from tests.contracts.documents import MANIFEST, make_document

FANS = make_document("fans.md", {"Cabin": ["It hums.", "It turns."], "Suit": ["It is quiet."]})
CHANGED = make_document("fans.md", {"Cabin": ["It rattles.", "It turns."], "Suit": ["It is quiet."]})


def leaves(version: str, *ids: str) -> Leaves:
    return Leaves(version, {node_id: Fetched({"node": node_id, "version": version}, None) for node_id in ids})


def section(version: str, text: str) -> dict[str, object]:
    return {"version": version, "text": text, "metadata": "", "children": []}


class TestLeafCache:
    def test_leaves_come_back_by_section_and_by_id(self) -> None:
        cache = LeafCache()
        cache.put({"s": leaves("1", "a", "b"), "t": leaves("2", "c")})
        assert [*cache.of_sections(["s", "x"], {"1", "2"})] == ["s"]
        assert [*cache.get_many(["c", "a", "x"], {"1", "2"})] == ["c", "a"]

    def test_only_visible_versions_come_back(self) -> None:
        cache = LeafCache()
        cache.put({"s": leaves("1", "a")})
        assert cache.of_sections(["s"], {"2"}) == {}
        assert cache.get_many(["a"], {"2"}) == {}

    def test_the_least_lately_used_section_goes_first_with_its_leaves(self) -> None:
        cache = LeafCache(max_leaves=3)
        cache.put({"s": leaves("1", "a", "b")})
        cache.put({"t": leaves("1", "c")})
        cache.get_many(["a"], {"1"})
        cache.put({"u": leaves("1", "d")})
        assert [*cache.get_many(["a", "b", "c", "d"], {"1"})] == ["a", "b", "d"]

    def test_a_newer_version_takes_the_place_of_the_older(self) -> None:
        cache = LeafCache(max_leaves=2)
        cache.put({"s": leaves("1", "a", "b")})
        cache.put({"s": leaves("2", "a", "z")})
        assert [*cache.get_many(["a", "b", "z"], {"1", "2"})] == ["a", "z"]


def test_the_sections_kept_are_bounded_by_their_texts() -> None:
    cache = section_cache(max_characters=10)
    cache.put({"s": section("1", "12345"), "t": section("1", "1234")})
    cache.put({"u": section("1", "12")})
    assert [*cache.get_many("stu", {"1"})] == ["t", "u"]


@pytest.mark.server
class TestOnServers:
    def test_a_second_question_fetches_no_leaf_again(self, store: ServerStore) -> None:
        with store.writing(MANIFEST) as writing:
            writing.replace(FANS)
        ids = [node.node_id for node in FANS.sections]
        first = store.sentences.of_sections(ids)
        with patch.object(NodeObjects, "fetch", side_effect=AssertionError("fetched")):
            again = store.sentences.of_sections(ids)
            assert again == first
            nodes = [leaf.node_id for group in again.values() for leaf in group]
            assert [*store.sentences.get_many(nodes)] == nodes
            assert [*store.sentences.vectors(nodes)] == nodes

    def test_warmed_up_it_asks_for_no_section_and_no_document(
        self, store: ServerStore, addresses: ServerAddresses
    ) -> None:
        with store.writing(MANIFEST) as writing:
            writing.replace(FANS)
            writing.replace(make_document("pumps.md", {"Pump": ["It leaks."]}))
        asked = {"read_sections": Mock(side_effect=AssertionError("asked"))}
        asked["read_text"] = asked["read_sections"]
        whole = store.sections.document("fans.md")
        with closing(ServerStore(addresses)) as reader:
            reader.sections.warm_up()
            with patch.multiple("pipeline.stores.server.sections", **asked):
                ids = [node.node_id for node in FANS.sections]
                assert [node.text for node in reader.sections.get_many(ids).values()] == [
                    node.text for node in FANS.sections
                ]
                assert reader.sections.document("fans.md") == whole

    def test_a_change_by_another_process_is_seen(
        self, store: ServerStore, addresses: ServerAddresses
    ) -> None:
        with store.writing(MANIFEST) as writing:
            writing.replace(FANS)
        cabin = FANS.sections[0].node_id
        with closing(ServerStore(addresses)) as reader:
            reader.sections.warm_up()
            assert reader.sentences.of_sections([cabin])[cabin][0].text == "It hums."
            with store.writing(MANIFEST) as writing:
                writing.replace(CHANGED)
            (first, second) = reader.sentences.of_sections([cabin])[cabin]
            assert (first.text, second.text) == ("It rattles.", "It turns.")
            assert "rattles" in reader.sections.get_many([cabin])[cabin].text
            assert reader.sentences.get_many([first.node_id])[first.node_id].text == "It rattles."

    def test_an_empty_store_warms_up(self, store: ServerStore) -> None:
        store.sections.warm_up()
        assert store.sections.get_many(["x"]) == {}
