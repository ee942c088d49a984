"""What every `Memories` does: rows kept whole, written at once or not at all, by user, and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pipeline.errors import MemoriesChanged, TurnChanged
from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.memories import (
    Entity,
    Memories,
    MemoryChanges,
    MemoryEvent,
    MemorySource,
    Mention,
    Relation,
    UserMemories,
)
from tests.answers import answer
from tests.contracts.conftest import BACKENDS
from tests.contracts.memories import adding, embedding, many, memory, texts
from tests.server_stores import server_addresses


@dataclass(frozen=True, slots=True)
class Stored:
    """Memories, the conversations beside them, and how both are opened once more."""

    memories: Memories
    conversations: Conversations
    again: Callable[[], Memories]


@pytest.fixture(params=BACKENDS)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stored]:
    """An empty store of each backend in turn."""
    with ExitStack() as opened:
        match request.param:
            case "embedded":
                path = tmp_path / "athena.sqlite"
                conversations: Conversations = EmbeddedConversations(path)

                def open_memories() -> Memories:
                    return opened.enter_context(closing(EmbeddedMemories(path)))

            case _:
                from pipeline.stores.server.conversations import ServerConversations
                from pipeline.stores.server.memories import ServerMemories

                addresses = opened.enter_context(server_addresses())
                conversations = ServerConversations(addresses)

                def open_memories() -> Memories:
                    return opened.enter_context(closing(ServerMemories(addresses)))

        opened.enter_context(closing(conversations))
        yield Stored(open_memories(), conversations, open_memories)


@pytest.fixture
def memories(stored: Stored) -> Memories:
    return stored.memories


def test_nobody_is_remembered_at_first(memories: Memories) -> None:
    assert memories.users() == []
    assert memories.version("ann") == 0
    assert memories.load("ann") == UserMemories(user="ann", version=0)
    assert memories.events("ann") == []


def test_every_field_comes_back(stored: Stored) -> None:
    whole = memory(
        "Ünïcode “$set.a\x00b” 🚀",
        tier="short_term",
        kind="qa",
        origin="assistant",
        tags=("a.b", "$c"),
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
    entity = Entity(
        id="e", user="ann", name="Ann", type="person", aliases=("A.",), attributes={"$a.b": "c.d"}
    )
    mention = Mention(id="n", user="ann", entity_id="e", at=1.0, memory_id="m", turn_id="t", source="a.md")
    relation = Relation(
        id="r", user="ann", subject_id="e", label="likes", object_id="f", at=2.0, memory_id="m", turn_id="t"
    )
    event = MemoryEvent(id="v", user="ann", memory_id=whole.id, action="ADD", at=3.0, other_id="o")
    changes = MemoryChanges(
        memories=(whole,), entities=(entity,), mentions=(mention,), relations=(relation,), events=(event,)
    )
    assert stored.memories.apply("ann", changes) == 1
    for memories in (stored.memories, stored.again()):
        assert memories.load("ann") == UserMemories(
            user="ann",
            version=1,
            memories=(whole,),
            entities=(entity,),
            mentions=(mention,),
            relations=(relation,),
        )
        assert memories.events("ann", whole.id) == memories.events("ann") == [event]
        assert memories.events("ann", "another") == []
        assert memories.users() == ["ann"]


def test_rows_are_replaced_and_removed_by_id(memories: Memories) -> None:
    first, second = memory("One."), memory("Two.", created_at=2.0)
    entity = Entity(id="e", user="ann", name="Ann")
    assert memories.apply("ann", adding(first, second, entities=(entity,))) == 1
    assert memories.apply("ann", adding(replace(first, text="One and a half."))) == 2
    assert texts(memories.load("ann")) == ["One and a half.", "Two."]
    assert memories.apply("ann", MemoryChanges(removed=(first.id, "e", "unknown"))) == 3
    loaded = memories.load("ann")
    assert (texts(loaded), loaded.entities, loaded.version) == (["Two."], (), 3)
    assert memories.apply("ann", adding(memory("Three.", id="x"), removed=("x",))) == 4
    assert texts(memories.load("ann")) == ["Two."]  # what is removed as well is gone


def test_a_text_lives_once_in_a_tier(memories: Memories) -> None:
    first = memory("Tea.")
    memories.apply("ann", adding(first))
    with pytest.raises(MemoriesChanged, match="'ann'"):
        memories.apply("ann", adding(memory("Coffee."), memory("Tea.")))
    with pytest.raises(MemoriesChanged):
        memories.apply("ann", adding(memory("Milk.", id="1"), memory("Milk.", id="2")))
    assert texts(memories.load("ann")) == ["Tea."]
    assert memories.version("ann") == 1
    # In another tier, in history, and in the place of the one that ends, it may stand.
    memories.apply("ann", adding(memory("Tea.", tier="short_term"), memory("Tea.", ended_at=2.0)))
    ended = replace(first, ended_at=9.0)
    memories.apply("ann", adding(memory("Tea.", id="new"), ended))
    assert len(memories.load("ann").memories) == 4
    memories.apply("ann", adding(memory("Tea.", id="newest"), removed=("new",)))
    assert {row.id for row in memories.load("ann").memories if row.live} >= {"newest"}


def test_changes_decided_on_older_rows_are_refused(memories: Memories) -> None:
    assert memories.apply("ann", adding(memory("One.")), expected=0) == 1
    with pytest.raises(MemoriesChanged, match="Try again"):
        memories.apply("ann", adding(memory("Two.")), expected=0)
    assert texts(memories.load("ann")) == ["One."]
    assert memories.apply("ann", adding(memory("Two.")), expected=1) == 2


def test_users_are_apart(memories: Memories) -> None:
    memories.apply("ann", adding(memory("Ann's.", id="same")))
    memories.apply("bob", adding(memory("Bob's.", id="same", user="bob")))
    assert memories.users() == ["ann", "bob"]
    assert (texts(memories.load("ann")), texts(memories.load("bob"))) == (["Ann's."], ["Bob's."])
    memories.apply("bob", MemoryChanges(removed=("same",)))
    assert texts(memories.load("ann")) == ["Ann's."]
    assert memories.users() == ["ann"]
    assert (memories.version("ann"), memories.version("bob")) == (1, 2)
    with pytest.raises(ValueError, match="'bob'"):
        memories.apply("ann", adding(memory("Mine?", user="bob")))


def test_whoever_writes_at_once_writes_one_after_the_other(memories: Memories) -> None:
    with ThreadPoolExecutor(4) as pool:
        versions = list(pool.map(lambda n: memories.apply("ann", adding(memory(f"{n}"))), range(12)))
    assert sorted(versions) == list(range(1, 13))
    assert len(memories.load("ann").memories) == 12


def test_of_those_who_decided_on_the_same_rows_one_wins(memories: Memories) -> None:
    def write(number: int) -> int:
        try:
            return memories.apply("ann", adding(memory(f"{number}")), expected=0)
        except MemoriesChanged:
            return 0

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(write, range(6))) == [0] * 5 + [1]
    assert len(memories.load("ann").memories) == 1


def test_what_rests_on_a_turn_is_void_once_that_is_gone(stored: Stored) -> None:
    conversation = stored.conversations.create(user="ann").info.id
    turn = stored.conversations.save_turn(conversation, answer("I like tea."))
    with pytest.raises(TurnChanged):  # it is not his
        stored.memories.apply("bob", adding(memory(user="bob"), rests_on=((turn, "I like tea."),)))
    stored.memories.apply("ann", adding(memory("I like tea."), rests_on=((turn, "I like tea."),)))
    stored.conversations.delete(conversation)
    with pytest.raises(TurnChanged):
        stored.memories.apply("ann", adding(memory("So."), rests_on=((turn, "I like tea."),)))
    assert texts(stored.memories.load("ann")) == ["I like tea."]


def test_what_was_decided_on_older_rows_forgets_nothing(memories: Memories) -> None:
    row = memory("It hums.")
    version = memories.apply("ann", adding(row))
    memories.apply("ann", adding(replace(row, text="It rattles.")))
    with pytest.raises(MemoriesChanged):
        memories.forget("ann", MemoryChanges(removed=(row.id,)), expected=version)
    assert texts(memories.load("ann")) == ["It rattles."]
    memories.forget("ann", MemoryChanges(removed=(row.id,)), expected=version + 1)
    assert texts(memories.load("ann")) == []


def test_an_answer_is_changed_as_it_is_stored_by_then(stored: Stored) -> None:
    conversation = stored.conversations.create(user="ann").info.id
    turn = stored.conversations.save_turn(conversation, answer("What is said?", "It hums."))
    stored.conversations.change_answer(turn, lambda found: replace(found, notices=(found.text,)))
    (changed,) = stored.conversations.get(conversation).turns
    assert (changed.answer.text, changed.answer.notices) == ("It hums.", ("It hums.",))
    stored.conversations.change_answer("gone", lambda found: found)


def test_what_is_forgotten_is_gone_from_rows_and_turns(stored: Stored) -> None:
    conversations = stored.conversations
    ann, bob = (conversations.create(user=user).info.id for user in ("ann", "bob"))
    turn = conversations.save_turn(ann, answer("Remember 48151623."))
    conversations.save_turn(ann, answer("And?"))
    conversations.save_turn(bob, answer("Remember 48151623."))
    gone, kept = memory("48151623", sources=(MemorySource(turn_id=turn, quote="48151623"),)), memory("Tea.")
    stored.memories.apply("ann", adding(gone, kept))
    event = MemoryEvent(id="v", user="ann", memory_id=gone.id, action="DELETE", at=3.0)
    changes = MemoryChanges(removed=(gone.id,), events=(event,))
    stored.memories.forget("ann", changes, turns=[turn])
    assert stored.memories.load("ann").memories == (kept,)
    assert stored.memories.events("ann") == [event]
    assert [found.question for found in conversations.get(ann).turns] == ["And?"]
    assert conversations.list(user="ann", words="48151623") == []
    assert [info.id for info in conversations.list(user="bob", words="48151623")] == [bob]


def test_hundreds_come_back_in_their_order(memories: Memories) -> None:
    rows = many(300)
    memories.apply("ann", adding(*rows))
    assert memories.load("ann").memories == rows


def test_turns_that_are_forgotten_are_gone_and_what_is_left_of_their_conversations_stays(
    stored: Stored,
) -> None:
    conversations, memories = stored.conversations, stored.memories
    mixed, whole, other = (conversations.create(user="ann").info.id for _ in range(3))
    theirs = conversations.create(user="bob").info.id
    first, second = (conversations.save_turn(mixed, answer(question)) for question in ("One?", "Two?"))
    gone = [first, *(conversations.save_turn(whole, answer(f"{number}?")) for number in range(2))]
    conversations.save_turn(other, answer())
    bobs = conversations.save_turn(theirs, answer())
    sources = (MemorySource(turn_id=first, quote="One"), MemorySource(turn_id=second, quote="Two"))
    memories.apply("ann", adding(memory("Kept.", sources=sources), memory("Not kept.", id="m")))
    before = conversations.revisions("ann")
    version = memories.version("ann")
    with pytest.raises(MemoriesChanged):
        memories.forget("ann", MemoryChanges(), turns=gone, expected=version - 1)
    assert conversations.revisions("ann") == before
    memories.forget("ann", MemoryChanges(removed=("m",)), turns=[*gone, bobs, "x"], expected=version)
    after = conversations.revisions("ann")
    assert after.keys() == {mixed, other}
    assert after[mixed] > before[mixed]
    left = conversations.get(mixed)
    assert (left.info.title, left.info.turns, [turn.id for turn in left.turns]) == ("Two?", 1, [second])
    assert [turn.id for turn in conversations.recallable("ann", [mixed, whole])] == [second]
    assert [turn.id for turn in conversations.get(theirs).turns] == [bobs]  # it is not ann's
    assert memories.version("ann") > version


def test_whoever_read_a_turn_that_is_forgotten_meanwhile_keeps_nothing_of_it(stored: Stored) -> None:
    turn = stored.conversations.save_turn(stored.conversations.create(user="ann").info.id, answer())
    before = stored.memories.version("ann")
    stored.memories.forget("ann", MemoryChanges(), turns=[turn])
    with pytest.raises((TurnChanged, MemoriesChanged)):
        stored.memories.apply("ann", adding(memory(), rests_on=((turn, "Why?"),)), expected=before)
