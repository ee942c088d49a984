"""What every `Memories` does: rows kept whole, written at once or not at all, by user, and forgotten."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from pipeline.errors import MemoriesChanged, TurnChanged
from pipeline.stores.base import Store
from pipeline.stores.memories import (
    Entity,
    Memories,
    MemoryChanges,
    MemorySource,
    Mention,
    Relation,
    UserMemories,
)
from tests.answers import answer
from tests.contracts.conftest import OpenStore
from tests.contracts.memories import adding, applied, embedding, forgotten, memory, texts


@pytest.fixture
def memories(store: Store) -> Memories:
    return store.memories


def test_nobody_is_remembered_at_first(memories: Memories) -> None:
    assert memories.users() == []
    assert memories.load("ann") == UserMemories(user="ann", version=0)


def test_every_field_comes_back(open_store: OpenStore) -> None:
    whole = memory(
        "Ünïcode “$set.a\x00b” 🚀",
        tier="short_term",
        kind="qa",
        origin="assistant",
        importance=0.5,
        why="said so",
        subject="ann",
        predicate="likes",
        object="tea",
        success=False,
        pinned=True,
        trusted=False,
        created_at=3.5,
        ended_at=4.5,
        replaced_by="m2",
        accessed_at=5.5,
        accesses=7,
        embedding=embedding(1),
        embedded_by="model",
        sources=(
            MemorySource(turn_id="t", part="answer", start=1, end=9, quote="the\nwords"),
            MemorySource(source="a.md", start=3, end=4, quote="x", file_hash="h"),
            MemorySource(memory_id="m"),
        ),
    )
    entity = Entity(id="e", user="ann", name="Ann", type="person", attributes={"$a.b": "c.d"})
    mention = Mention(id="n", user="ann", entity_id="e", at=1.0, memory_id="m", turn_id="t", source="a.md")
    relation = Relation(
        id="r", user="ann", subject_id="e", label="likes", object_id="f", at=2.0, memory_id="m", turn_id="t"
    )
    changes = MemoryChanges(memories=(whole,), entities=(entity,), mentions=(mention,), relations=(relation,))
    writing, reading = open_store().memories, open_store().memories
    assert writing.apply("ann", changes, expected=0) == 1
    for memories in (writing, reading):
        assert memories.load("ann") == UserMemories(
            user="ann",
            version=1,
            memories=(whole,),
            entities=(entity,),
            mentions=(mention,),
            relations=(relation,),
        )
        assert memories.load("ann", since=1) == UserMemories(user="ann", version=1)  # nothing is new
        assert memories.users() == ["ann"]


def test_rows_are_replaced_and_removed_by_id(memories: Memories) -> None:
    first, second = memory("One."), memory("Two.", created_at=2.0)
    entity = Entity(id="e", user="ann", name="Ann")
    assert applied(memories, "ann", adding(first, second, entities=(entity,))) == 1
    assert applied(memories, "ann", adding(replace(first, text="One and a half."))) == 2
    assert texts(memories.load("ann")) == ["One and a half.", "Two."]
    assert applied(memories, "ann", MemoryChanges(removed=(first.id, "e", "unknown"))) == 3
    loaded = memories.load("ann")
    assert (texts(loaded), loaded.entities, loaded.version) == (["Two."], (), 3)
    assert applied(memories, "ann", adding(memory("Three.", id="x"), removed=("x",))) == 4
    assert texts(memories.load("ann")) == ["Two."]  # what is removed as well is gone


def test_changes_decided_on_older_rows_are_refused(memories: Memories) -> None:
    assert memories.apply("ann", adding(memory("One.", id="one")), expected=0) == 1
    for changes in (adding(memory("Two.")), MemoryChanges(removed=("one",))):
        with pytest.raises(MemoriesChanged, match="Try again"):
            memories.apply("ann", changes, expected=0, erase=bool(changes.removed))
    assert texts(memories.load("ann")) == ["One."]
    assert memories.apply("ann", adding(memory("Two.")), expected=1) == 2


def test_users_are_apart(memories: Memories) -> None:
    applied(memories, "ann", adding(memory("Ann's.", id="same")))
    applied(memories, "bob", adding(memory("Bob's.", id="same", user="bob")))
    assert memories.users() == ["ann", "bob"]
    assert (texts(memories.load("ann")), texts(memories.load("bob"))) == (["Ann's."], ["Bob's."])
    applied(memories, "bob", MemoryChanges(removed=("same",)))
    assert texts(memories.load("ann")) == ["Ann's."]
    assert (memories.load("ann").version, memories.load("bob").version) == (1, 2)


def test_of_those_who_decided_on_the_same_rows_one_wins(memories: Memories) -> None:
    def write(number: int) -> int:
        try:
            return memories.apply("ann", adding(memory(f"{number}")), expected=0)
        except MemoriesChanged:
            return 0

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(write, range(6))) == [0] * 5 + [1]
    assert len(memories.load("ann").memories) == 1


def test_what_rests_on_a_turn_is_void_once_that_is_gone(store: Store) -> None:
    conversation = store.conversations.create(user="ann").info.id
    turn = store.conversations.save_turn(conversation, answer("I like tea."))
    with pytest.raises(TurnChanged):  # it is not his
        applied(store.memories, "bob", adding(memory(user="bob"), rests_on=(turn,)))
    applied(store.memories, "ann", adding(memory("I like tea."), rests_on=(turn,)))
    store.conversations.delete(conversation)
    with pytest.raises(TurnChanged):
        applied(store.memories, "ann", adding(memory("So."), rests_on=(turn,)))
    assert texts(store.memories.load("ann")) == ["I like tea."]


def test_turns_that_are_forgotten_are_gone_and_what_is_left_of_their_conversations_stays(
    store: Store,
) -> None:
    conversations, memories = store.conversations, store.memories
    mixed, whole, other = (conversations.create(user="ann").info.id for _ in range(3))
    theirs = conversations.create(user="bob").info.id
    first, second = (conversations.save_turn(mixed, answer(question)) for question in ("One?", "Two?"))
    gone = [first, *(conversations.save_turn(whole, answer(f"{number}?")) for number in range(2))]
    conversations.save_turn(other, answer())
    bobs = conversations.save_turn(theirs, answer())
    sources = (MemorySource(turn_id=first, quote="One"), MemorySource(turn_id=second, quote="Two"))
    applied(memories, "ann", adding(memory("Kept.", sources=sources), memory("Not kept.", id="m")))
    before = conversations.revisions("ann")
    version = memories.load("ann").version
    with pytest.raises(MemoriesChanged):
        forgotten(memories, "ann", MemoryChanges(), turns=gone, expected=version - 1)
    assert conversations.revisions("ann") == before
    forgotten(memories, "ann", MemoryChanges(removed=("m",)), turns=[*gone, bobs, "x"], expected=version)
    after = conversations.revisions("ann")
    assert after.keys() == {mixed, other}
    assert after[mixed] > before[mixed]
    left = conversations.get(mixed)
    assert (left.info.title, [turn.id for turn in left.turns]) == ("Two?", [second])
    assert [turn.id for turn in conversations.turns("ann", conversations=[mixed, whole])] == [second]
    assert [turn.id for turn in conversations.get(theirs).turns] == [bobs]  # it is not ann's
    assert memories.load("ann").version > version
    assert conversations.list(user="ann", words="one") == []
