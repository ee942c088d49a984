"""The graph, by a small one that is drawn in the comments."""

from __future__ import annotations

from memory.deciding import edits
from memory.recalling.graph import changes, entity_knowledge, sentence, stream, themes
from memory.recalling.user_index import UserIndex
from memory.user_memory import UserMemory
from pipeline.stores.memories import Entity, Memory, Mention, Relation, UserMemories
from tests.memory.conftest import with_preset

# clara -- plays -- cello -- made of -- wood -- grows in -- forest;  rex is alone
NAMES = ("clara", "cello", "wood", "forest", "rex")
EDGES = (("clara", "plays", "cello"), ("cello", "made of", "wood"), ("wood", "grows in", "forest"))


def graph() -> UserIndex:
    rows = UserMemories(
        user="local",
        version=1,
        memories=(Memory(id="m1", user="local", text="Clara plays the cello.", tags=("music",)),),
        entities=tuple(Entity(id=name, user="local", name=name, aliases=(f"the {name}",)) for name in NAMES),
        mentions=(
            Mention(id="1", user="local", entity_id="clara", at=1.0, memory_id="m1"),
            Mention(id="2", user="local", entity_id="cello", at=2.0),
            Mention(id="3", user="local", entity_id="clara", at=30.0),
            Mention(id="4", user="local", entity_id="rex", at=40.0),
        ),
        relations=tuple(
            Relation(id=f"r{n}", user="local", subject_id=one, label=label, object_id=other, at=float(n))
            for n, (one, label, other) in enumerate(EDGES)
        ),
    )
    return UserIndex(rows)


def test_the_most_frequent_come_first_then_the_latest() -> None:
    known = entity_knowledge(graph())
    assert [(item.entity.name, item.mentions, item.last_at) for item in known] == [
        ("clara", 2, 30.0),
        ("rex", 1, 40.0),
        ("cello", 1, 2.0),
    ]


def test_the_stream_is_latest_first() -> None:
    assert [mention.id for mention in stream(graph())] == ["4", "3", "2", "1"]
    assert [mention.id for mention in stream(graph(), entity_id="clara")] == ["3", "1"]


def test_what_changed_between_two_periods() -> None:
    found = changes(graph(), before=(0, 10), after=(10, 50))
    assert [(item.entity.name, item.before, item.after) for item in found] == [
        ("cello", 1, 0),
        ("rex", 0, 1),
    ]


def test_words_for_it() -> None:
    index = graph()
    assert sentence(index, index.relations["r0"]) == "clara plays cello"
    assert themes(index.memories.values()) == [("general", 1), ("music", 1)]


def test_entities_are_found_by_alias_and_forgotten_with_the_last_that_names_them(mine: UserMemory) -> None:
    mine = with_preset(mine, "graph")
    (memory_id,) = mine.add("My sister Clara lives in Bonn.").data["added"]
    names = {entity.name for entity in mine.index.entities.values()}
    assert any("Clara" in name for name in names)
    mine.add("I work at Acme.")
    mine.forget(mine.forgetting([memory_id]))
    assert not any("Clara" in entity.name for entity in mine.index.entities.values())
    assert not any("Bonn" in entity.name for entity in mine.index.entities.values())


def test_an_edit_changes_whom_it_names(mine: UserMemory) -> None:
    mine = with_preset(mine, "graph")
    (memory_id,) = mine.add("My sister Clara lives in Bonn.").data["added"]
    edits.edit(mine, memory_id, "My brother Dario lives in Bonn.")
    names = {entity.name for entity in mine.index.entities.values()}
    assert any("Dario" in name for name in names)
    assert not any("Clara" in name for name in names)
    assert all(mention.entity_id in mine.index.entities for mention in mine.index.mentions.values())
