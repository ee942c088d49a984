"""What every `Memories` does: rows kept whole, written at once or not at all, by user, and forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pipeline.answer import Answer
from pipeline.errors import MemoriesChanged, TurnChanged, UnknownConversation
from pipeline.steps.records import Step
from pipeline.stores.conversations import Conversations, answer_json
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
from tests.contracts.conftest import BACKENDS
from tests.contracts.memories import adding, embedding, many, memory, texts
from tests.contracts.test_conversations import answer
from tests.server_stores import server_addresses, with_neo4j


@dataclass(frozen=True, slots=True)
class Stored:
    """Memories, the conversations beside them, and how both are opened once more."""

    memories: Memories
    conversations: Conversations
    again: Callable[[], Memories]


@pytest.fixture(params=[*BACKENDS, pytest.param("neo4j", marks=pytest.mark.server)])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stored]:
    """An empty store of each backend in turn; the last one is the embedded one with its graph in Neo4j."""
    with ExitStack() as opened:
        match request.param:
            case "embedded" | "neo4j":
                path = tmp_path / "athena.sqlite"
                conversations: Conversations = EmbeddedConversations(path)

                def open_memories() -> Memories:
                    memories = opened.enter_context(closing(EmbeddedMemories(path)))
                    beside = request.param == "neo4j"
                    return opened.enter_context(with_neo4j(memories)) if beside else memories

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


def test_a_store_has_a_name_of_its_own_for_good(stored: Stored, tmp_path: Path) -> None:
    name = stored.memories.identity()
    stored.memories.apply("ann", adding(memory()))
    assert stored.again().identity() == stored.memories.identity() == name
    with closing(EmbeddedMemories(tmp_path / "other.sqlite")) as other:
        assert other.identity() != name


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


def test_turns_that_were_looked_at_are_told_apart(stored: Stored) -> None:
    conversation = stored.conversations.create(user="ann").info.id
    turn = stored.conversations.save_turn(conversation, answer())
    assert stored.memories.apply("ann", MemoryChanges(remembered=(turn,))) == 0  # no row is another
    assert stored.conversations.unremembered("ann") == []
    assert stored.conversations.get(conversation).turns[0].remembered
    other = stored.conversations.save_turn(conversation, answer("And?"))
    stored.memories.apply("bob", MemoryChanges(remembered=(other,)))  # not his
    assert [turn.id for turn in stored.conversations.unremembered("ann")] == [other]
    assert stored.memories.apply("ann", adding(memory(), remembered=(other,))) == 1
    assert stored.conversations.unremembered("ann") == []


def test_a_deleted_conversation_leaves_no_source_that_names_it(stored: Stored) -> None:
    conversation, other = (stored.conversations.create(user="ann").info.id for _ in range(2))
    turn = stored.conversations.save_turn(conversation, answer())
    stays = stored.conversations.save_turn(other, answer())
    sources = (MemorySource(turn_id=turn, end=3, quote="Why"), MemorySource(turn_id=stays, quote="So"))
    stored.memories.apply(
        "ann",
        MemoryChanges(
            memories=(memory("Kept.", sources=sources),),
            mentions=(Mention(id="n", user="ann", entity_id="e", at=1.0, turn_id=turn),),
            relations=(
                Relation(id="r", user="ann", subject_id="e", label="l", object_id="e", at=1, turn_id=turn),
            ),
        ),
    )
    before = stored.memories.version("ann")
    stored.conversations.delete(conversation)
    loaded = stored.memories.load("ann")
    assert loaded.memories[0].sources == (replace(sources[0], turn_id=""), sources[1])
    assert (loaded.mentions[0].turn_id, loaded.relations[0].turn_id) == ("", "")
    assert loaded.version > before


def test_what_rests_on_a_turn_is_void_once_that_is_gone_or_says_something_else(stored: Stored) -> None:
    conversation = stored.conversations.create(user="ann").info.id
    said = "I live in Bonn. I like tea."
    turn = stored.conversations.save_turn(conversation, answer(said))
    changes = adding(memory("I like tea."), rests_on=((turn, said),), remembered=(turn,))
    with pytest.raises(TurnChanged):  # it is not his
        stored.memories.apply("bob", adding(memory(user="bob"), rests_on=((turn, said),)))
    stored.memories.forget("ann", MemoryChanges(), words=["I live in Bonn."])
    with pytest.raises(TurnChanged):
        stored.memories.apply("ann", changes)
    now = stored.conversations.get(conversation).turns[0].question
    stored.memories.apply("ann", replace(changes, rests_on=((turn, now),), remembered=()))
    before = stored.memories.version("ann")
    stored.conversations.delete(conversation)
    with pytest.raises((TurnChanged, MemoriesChanged)):  # whoever decided before the deletion decides again
        stored.memories.apply("ann", adding(memory("So."), rests_on=((turn, now),)), expected=before)
    with pytest.raises(TurnChanged):
        stored.memories.apply("ann", adding(memory("So."), rests_on=((turn, now),)))
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


SECRET = 'the locker of "Zoë" opens\nwith 48151623'


def secret_turn(number: int = 1) -> Answer:
    """A turn whose every text has the secret."""
    said = f"Remember that {SECRET}."
    return answer(
        said,
        f"Noted: {SECRET} [1].",
        condensed_question=said.upper(),
        notices=(f"“{' '.join(SECRET.split())}” is noted.",),
        steps=(
            Step("condense", data={"message": said, "question": said}),
            Step(
                "prompt",
                data={
                    "messages": [
                        {"role": "user", "text": f"before: {SECRET}"},
                        {"role": "user", "text": f"{number}"},
                    ]
                },
            ),
        ),
    )


def test_what_is_forgotten_is_gone_from_rows_and_turns(stored: Stored) -> None:
    ann = stored.conversations.create(user="ann").info.id
    turn = stored.conversations.save_turn(ann, secret_turn())
    stored.conversations.set_feedback(turn, 1, f"yes, {SECRET}")
    bob = stored.conversations.create(user="bob").info.id
    stored.conversations.save_turn(bob, secret_turn())
    renamed = stored.conversations.create(f"About {SECRET}", user="ann").info.id
    start = len("Remember that ")
    source = MemorySource(turn_id=turn, start=start, end=start + len(SECRET), quote=SECRET)
    gone, kept = memory(SECRET, sources=(source,)), memory("Tea.")
    stored.memories.apply("ann", adding(gone, kept))
    event = MemoryEvent(id="v", user="ann", memory_id=gone.id, action="DELETE", at=3.0)
    stored.memories.forget("ann", MemoryChanges(removed=(gone.id,), events=(event,)), words=[SECRET])
    assert stored.memories.load("ann").memories == (kept,)
    assert stored.memories.events("ann") == [event]
    (left,) = stored.conversations.get(ann).turns
    everything = answer_json(left.answer) + left.question + left.feedback_text
    for form in (SECRET, " ".join(SECRET.split()), "48151623", "locker"):
        assert form.casefold() not in everything.casefold()
    assert left.question == left.answer.question == f"Remember that {'█' * len(SECRET)}."
    assert [len(step.data["question"]) for step in left.answer.steps[:1]] == [len(left.question)]
    assert "locker" not in stored.conversations.get(ann).info.title
    assert stored.conversations.get(renamed).info.title == "About …"
    assert SECRET in stored.conversations.get(bob).turns[0].question
    assert stored.conversations.list(user="ann", words="48151623") == []
    assert [info.id for info in stored.conversations.list(user="bob", words="48151623")] == [bob]


def test_later_turns_of_the_conversation_lose_what_was_made_of_it(stored: Stored) -> None:
    mine, other = (stored.conversations.create(user="ann").info.id for _ in range(2))
    stored.conversations.save_turn(mine, secret_turn())
    later = answer("And now?", "48151623 is noted.", condensed_question="the locker of 48151623, now")
    for id_ in (mine, other):
        stored.conversations.save_turn(id_, later)
    stored.memories.forget("ann", MemoryChanges(), words=[SECRET])
    left = stored.conversations.get(mine).turns[1]
    assert (left.answer.text, left.answer.condensed_question) == (
        f"{'█' * 8} is noted.",
        f"the {'█' * 6} of {'█' * 8}, now",
    )
    assert stored.conversations.get(other).turns[0].answer.text == later.text  # it was not said there


def test_forgetting_without_words_leaves_turns_alone(stored: Stored) -> None:
    id_ = stored.conversations.create(user="ann").info.id
    stored.conversations.save_turn(id_, secret_turn())
    before = stored.conversations.get(id_)
    kept = memory(SECRET)
    stored.memories.apply("ann", adding(kept))
    stored.memories.forget("ann", MemoryChanges(removed=(kept.id,)))
    assert stored.conversations.get(id_) == before
    assert stored.memories.users() == []


def test_words_that_json_could_be_broken_with_break_nothing(stored: Stored) -> None:
    id_ = stored.conversations.create(user="ann").info.id
    stored.conversations.save_turn(id_, secret_turn())
    stored.memories.forget("ann", MemoryChanges(), words=['"', "\\", "complete", "{", ":", "ann"])
    (turn,) = stored.conversations.get(id_).turns
    assert turn.answer.status == "complete"
    assert '"' not in turn.question
    assert json.loads(answer_json(turn.answer))


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
    (kept,) = memories.load("ann").memories
    assert kept.sources == (replace(sources[0], turn_id=""), sources[1])
    assert memories.version("ann") > version


def test_a_turn_is_forgotten_in_every_version(stored: Stored) -> None:
    conversations = stored.conversations
    made = conversations.create(user="ann").info.id
    first = conversations.save_turn(made, answer("One?"))
    old = conversations.save_turn(made, answer("Two?"))
    conversations.save_turn(made, answer("Of the old one?"))
    new = conversations.save_turn(made, answer("Two again?"), instead_of=old)
    last = conversations.save_turn(made, answer("Three?"))
    stored.memories.forget("ann", MemoryChanges(), turns=[new])
    found = conversations.get(made)
    assert ([turn.id for turn in found.turns], found.aside) == ([first, last], ())
    again = conversations.save_turn(made, answer("Three again?"), instead_of=last)
    assert [turn.id for turn in conversations.get(made).turns] == [first, again]
    stored.memories.forget("ann", MemoryChanges(), turns=[first, again])
    with pytest.raises(UnknownConversation):
        conversations.get(made)


def test_whoever_read_a_turn_that_is_forgotten_meanwhile_keeps_nothing_of_it(stored: Stored) -> None:
    turn = stored.conversations.save_turn(stored.conversations.create(user="ann").info.id, answer())
    before = stored.memories.version("ann")
    stored.memories.forget("ann", MemoryChanges(), turns=[turn])
    with pytest.raises((TurnChanged, MemoriesChanged)):
        stored.memories.apply("ann", adding(memory(), rests_on=((turn, "Why?"),)), expected=before)


def test_what_is_found_again_of_a_turn_loses_forgotten_words(stored: Stored) -> None:
    conversations = stored.conversations
    id_ = conversations.create(user="ann").info.id
    said = answer("Is it Zoë?", f"{'It is Zoë’s [1]. ' * 150}", verdict="answered")
    conversations.save_turn(id_, said)
    conversations.save_turn(id_, replace(said, question="And?", text="It hums."))
    found = conversations.recallable("ann", [id_])
    embedded = [replace(turn, embedding=b"abcd", embedded_by="model") for turn in found]
    conversations.keep_embeddings(embedded)
    before = conversations.revisions("ann")[id_]
    stored.memories.forget("ann", MemoryChanges(), words=["Zoë"])
    changed, same = conversations.recallable("ann", [id_])
    assert (changed.question, changed.answer) == ("Is it ███?", found[0].answer.replace("Zoë", "███"))
    assert (changed.embedding, changed.embedded_by, same) == (b"", "", embedded[1])
    assert conversations.revisions("ann")[id_] > before
