"""What is kept of the servers' answers: bounded, right after every change, and worth it."""

from __future__ import annotations

from contextlib import closing
from unittest.mock import Mock, patch

import pytest

from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server.objects import NodeObjects
from pipeline.stores.server.snapshot import Kept, Versioned
from tests.contracts.documents import MANIFEST, make_document

FANS = make_document("fans.md", {"Cabin": ["It hums.", "It turns."], "Suit": ["It is quiet."]})
CHANGED = make_document("fans.md", {"Cabin": ["It rattles.", "It turns."], "Suit": ["It is quiet."]})


class TestKept:
    def test_only_visible_versions_come_back(self) -> None:
        kept: Kept[str] = Kept(9)
        kept.put({"a": Versioned("1", "old"), "b": Versioned("2", "new")})
        assert kept.get_many(["a", "b", "x"], {"2"}) == {"b": "new"}

    def test_the_least_lately_used_goes_first_by_its_size(self) -> None:
        kept: Kept[str] = Kept(10)
        kept.put({"s": Versioned("1", "s", 5), "t": Versioned("1", "t", 4)})
        kept.get_many(["s"], {"1"})
        kept.put({"u": Versioned("1", "u", 2), "large": Versioned("1", "large", 11)})
        assert [*kept.get_many(["s", "t", "u", "large"], {"1"})] == ["s", "u"]

    def test_a_newer_version_takes_the_place_of_the_older(self) -> None:
        kept: Kept[str] = Kept(2)
        kept.put({"a": Versioned("1", "old"), "b": Versioned("1", "b")})
        kept.put({"a": Versioned("2", "new")})
        assert kept.get_many(["a", "b"], {"1", "2"}) == {"a": "new", "b": "b"}


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
        vectors = store.sentences.vectors(ids)  # of the sections, by now kept, too
        with patch.object(NodeObjects, "fetch", side_effect=AssertionError("fetched")):
            assert store.sentences.vectors(ids).keys() == vectors.keys() == {*ids}

    def test_warmed_up_it_asks_for_no_section_and_no_document(
        self, store: ServerStore, addresses: ServerAddresses
    ) -> None:
        with store.writing(MANIFEST) as writing:
            writing.replace(FANS)
            writing.replace(make_document("pumps.md", {"Pump": ["It leaks."]}))
        asked = {"read_sections": Mock(side_effect=AssertionError("asked"))}
        asked["read_texts"] = asked["read_sections"]
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
