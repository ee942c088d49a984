"""What every `Conversations` does: kept, listed, renamed, deleted, exported, rated; from several threads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import UnknownConversation
from pipeline.steps.records import Step
from pipeline.stores.conversations import Conversations
from pipeline.stores.private import PrivateConversations
from pipeline.stores.turns import RecallableTurn
from tests.answers import answer
from tests.contracts.conftest import BACKENDS, opened_store


@pytest.fixture(params=[*BACKENDS, "private"])
def conversations(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Conversations]:
    """No conversations, on each backend in turn."""
    if request.param == "private":
        yield PrivateConversations()
        return
    with opened_store(request.param, tmp_path) as store:
        yield store.conversations


class TestConversations:
    def test_a_turn_is_written_once_and_then_over(self, conversations: Conversations) -> None:
        id_ = conversations.create().info.id
        steps = (
            Step("condense", data={"message": "Why?"}),
            Step(
                "search",
                data={"hits": 3, "dense_sections": [{"node_id": "a", "section_id": "a", "score": 0.5}]},
            ),
        )
        so_far = answer(text="The fan “", status="stopped", steps=steps)
        turn = conversations.save_turn(id_, so_far)
        for now in (replace(so_far, text="The fan “hums"), answer(text="The fan hums [1].")):
            assert conversations.save_turn(id_, replace(now, turn_id=turn)) == turn
            (kept,) = conversations.get(id_).turns
            assert kept.answer == replace(now, turn_id=turn, conversation_id=id_)
        assert conversations.get(id_).info.title == "Why?"

    def test_they_are_listed_renamed_and_deleted(self, conversations: Conversations) -> None:
        first, second = conversations.create("First").info.id, conversations.create("Second").info.id
        conversations.save_turn(first, answer())
        assert [info.title for info in conversations.list(limit=3)] == ["First", "Second"]
        assert [info.id for info in conversations.list(limit=1)] == [first]
        assert conversations.list(limit=0) == []
        conversations.rename(second, " Other ")
        assert conversations.get(second).info.title == "Other"
        conversations.delete(first)
        assert [info.id for info in conversations.list()] == [second]

    def test_they_are_found_by_all_that_was_said(self, conversations: Conversations) -> None:
        tank = conversations.create("The Tank", user="ann").info.id
        turn = conversations.save_turn(tank, answer("Is it empty?", "Nein, VÖLLIG voll [1]."))
        conversations.save_turn(tank, answer("And the fan?", "It (the fan) hums."))
        conversations.create("Sleep", user="ann")
        conversations.save_turn(conversations.create("Theirs", user="eve").info.id, answer("Is it empty?"))

        def found(words: str, **given: object) -> list[str]:
            return [info.id for info in conversations.list(user="ann", words=words, **given)]  # type: ignore[arg-type]

        for words in ("tank EMPTY", "völlig fan", "(the", "hums.", "  Tank  "):
            assert found(words) == [tank], words
        for words in ("giraffe", "tank giraffe", "empty?fan", "%", "section_text", ".*"):
            assert found(words) == [], words
        assert len(found("")) == 2
        conversations.save_turn(tank, answer("Is it empty?", "Quite.", turn_id=turn))
        assert (found("völlig"), found("quite")) == ([], [tank])
        kept = conversations.get(tank)
        conversations.restore(replace(kept, turns=kept.turns[1:]))
        assert (found("quite"), found("hums")) == ([], [tank])
        conversations.delete(tank)
        assert found("hums") == []

    def test_what_is_not_there_is_an_error(self, conversations: Conversations) -> None:
        for call in (
            lambda: conversations.get("x"),
            lambda: conversations.rename("x", "y"),
            lambda: conversations.delete("x"),
            lambda: conversations.save_turn("x", answer()),
            lambda: conversations.set_feedback("x", 1),
            lambda: conversations.set_scope("x", ()),
        ):
            with pytest.raises(UnknownConversation, match="'x'"):
                call()

    def test_feedback_is_kept_and_taken_back(self, conversations: Conversations) -> None:
        id_ = conversations.create().info.id
        turn = conversations.save_turn(id_, answer())
        for value in (-1, None):
            conversations.set_feedback(turn, value)
            assert conversations.turn(turn).feedback == value

    def test_several_threads_write_at_once(self, conversations: Conversations) -> None:
        id_ = conversations.create().info.id
        with ThreadPoolExecutor(8) as pool:
            turns = list(pool.map(lambda n: conversations.save_turn(id_, answer(f"Q{n}")), range(24)))
        kept = conversations.get(id_).turns
        assert {turn.id for turn in kept} == set(turns)
        assert len(kept) == 24

    def test_a_conversation_that_is_deleted_meanwhile_takes_no_turn(
        self, conversations: Conversations
    ) -> None:
        id_ = conversations.create().info.id
        turn = conversations.save_turn(id_, answer(text="", status="stopped"))
        conversations.delete(id_)
        with pytest.raises(UnknownConversation, match=id_):
            conversations.save_turn(id_, answer(turn_id=turn))
        with pytest.raises(UnknownConversation, match=turn):
            conversations.set_feedback(turn, 1)

    def test_whatever_a_text_is_made_of_comes_back(self, conversations: Conversations) -> None:
        id_ = conversations.create("").info.id
        given = answer("$set.a\x00b?", "“é” 🚀 [1]", settings={"$a.b": {"c.d": 2**70}})
        conversations.save_turn(id_, given)
        (kept,) = conversations.get(id_).turns
        assert replace(kept.answer, turn_id="", conversation_id="") == given

    def test_each_belongs_to_a_user(self, conversations: Conversations) -> None:
        mine = conversations.create("Mine", user="Zoë").info
        theirs = conversations.create("Theirs").info
        assert (mine.user, theirs.user) == ("Zoë", "local")
        assert [info.id for info in conversations.list(user="Zoë")] == [mine.id]
        assert [info.id for info in conversations.list(user="local")] == [theirs.id]
        assert conversations.list(user="zoë") == []
        assert len(conversations.list()) == 2
        assert conversations.get(mine.id).info == mine


def test_each_has_a_scope_of_its_own(conversations: Conversations) -> None:
    one, other = conversations.create("One").info.id, conversations.create("Other").info.id
    assert conversations.get(one).info.scope == ()
    scope = ("engines/", "a[[]1].md", "\u00e9 \u201cq\u201d")
    conversations.set_scope(one, scope)
    conversations.save_turn(one, answer())
    assert {info.id: info.scope for info in conversations.list()} == {one: scope, other: ()}
    conversations.set_scope(one, ())
    assert conversations.get(one).info.scope == ()


def recalled(conversations: Conversations, *ids: str, user: str = "local") -> list[tuple[str, str]]:
    """What is found again of some conversations: questions and answers."""
    return [(turn.question, turn.answer) for turn in conversations.turns(user, conversations=ids)]


NOTHING_KEPT = Step("remember", data={"known": []})
FOUND_AGAIN: list[tuple[dict[str, object], tuple[str, str]]] = [
    ({}, ("Why?", "So.")),
    ({"mode": "quote"}, ("Why?", "")),
    ({"text": "So [1], `x[1]` [2, 3]."}, ("Why?", "So, `x[1]`.")),
    ({"text": "a" * 3000}, ("Why?", "a" * 2000)),
    ({"status": "stopped"}, ("Why?", "")),
    ({"verdict": "closest"}, ("Why?", "")),
    ({"abstained": True}, ("Why?", "")),
    ({"mode": "reply"}, ("Why?", "")),
    ({"mode": "memory"}, ("", "")),
    ({"mode": "memory", "question": "Forget it.", "steps": (NOTHING_KEPT,)}, ("", "")),
    *(
        ({"mode": "memory", "steps": (Step("remember", data={kept: ["m"]}),)}, ("Why?", ""))  # type: ignore[arg-type]
        for kept in ("added", "known", "touched", "replaced")
    ),
]
"""What an answer is, and what is found again of its turn."""


def test_turns_are_found_again_by_what_was_said_and_answered(conversations: Conversations) -> None:
    mine, other = (conversations.create(user="ann").info.id for _ in range(2))
    theirs = conversations.create(user="bob").info.id
    ids = [
        conversations.save_turn(mine, answer(**{"verdict": "answered"} | given))  # type: ignore[arg-type]
        for given, _ in FOUND_AGAIN
    ]
    for id_ in (other, theirs):
        conversations.save_turn(id_, answer(f"{id_}?"))
    expected = [found for _, found in FOUND_AGAIN]
    assert recalled(conversations, mine, user="ann") == expected
    assert recalled(conversations, other, theirs, "gone", mine, user="ann") == [*expected, (f"{other}?", "")]
    first = conversations.turns("ann", conversations=[mine])[0]
    at = conversations.get(mine).turns[0].created_at
    assert first == RecallableTurn(id=ids[0], conversation_id=mine, question="Why?", answer="So.", at=at)


def test_what_the_memory_keeps_after_its_answer_decides_again(conversations: Conversations) -> None:
    id_ = conversations.create().info.id
    asked = answer("Note it.", mode="memory", steps=(Step("remember", data={"pending": True}),))
    turn = conversations.save_turn(id_, asked)
    assert recalled(conversations, id_) == [("", "")]
    steps = (Step("remember", data={"added": ["m"]}),)
    conversations.change_turn(turn, lambda found: replace(found, answer=replace(found.answer, steps=steps)))
    assert recalled(conversations, id_) == [("Note it.", "")]


def test_an_embedding_stays_as_long_as_its_text(conversations: Conversations) -> None:
    id_ = conversations.create().info.id
    known = answer(verdict="answered")
    turn = conversations.save_turn(id_, known)
    before = conversations.revisions("local")
    (found,) = conversations.turns("local", conversations=[id_])
    embedded = replace(found, embedding=b"\x00\x80\xff\n" * 400, embedded_by="model")
    others = [replace(embedded, **{name: "Else."}) for name in ("id", "question", "answer")]  # type: ignore[arg-type]
    conversations.keep_embeddings(others)
    assert conversations.turns("local", conversations=[id_]) == [found]
    for embedding in (b"abcd", embedded.embedding):
        conversations.keep_embeddings([replace(embedded, embedding=embedding)])
    assert conversations.turns("local", conversations=[id_]) == [embedded]
    assert conversations.revisions("local") == before
    conversations.set_feedback(turn, 1)
    assert conversations.turns("local", conversations=[id_]) == [embedded]
    conversations.save_turn(id_, replace(known, text="Or so.", turn_id=turn))
    assert conversations.turns("local", conversations=[id_]) == [replace(found, answer="Or so.")]


def test_a_revision_rises_with_every_change_of_its_turns(conversations: Conversations) -> None:
    id_, other = (conversations.create(user="ann").info.id for _ in range(2))
    theirs = conversations.create(user="bob").info.id
    at_first = conversations.revisions("ann")
    assert at_first.keys() == {id_, other}
    assert [*conversations.revisions("bob")] == [theirs]
    seen = [at_first[id_]]
    turn = conversations.save_turn(id_, answer())
    for change in (
        lambda: conversations.save_turn(id_, answer(text="Or so.", turn_id=turn)),
        lambda: conversations.set_feedback(turn, 1),
        lambda: conversations.restore(replace(conversations.get(id_), turns=())),
    ):
        seen.append(conversations.revisions("ann")[id_])
        change()
    seen.append(conversations.revisions("ann")[id_])
    assert seen == sorted(set(seen))
    assert conversations.revisions("ann")[other] == at_first[other]


def said(conversations: Conversations, id_: str) -> list[str]:
    return [turn.question for turn in conversations.get(id_).turns]


def test_another_answer_to_the_same_question_keeps_the_former_ones(conversations: Conversations) -> None:
    made = conversations.create(user="ann").info.id
    why, then = (conversations.save_turn(made, answer(question, "A.")) for question in ("Why?", "Then?"))
    conversations.set_feedback(why, -1)
    for text in ("B.", "C."):
        assert conversations.save_turn(made, answer("Why?", text), instead_of=why) == why
    conversations.save_turn(made, answer("Why?", "C!", turn_id=why))  # as it is written on
    turn = conversations.turn(why)
    assert [found.text for found in (*turn.versions, turn.answer)] == ["A.", "B.", "C!"]
    assert turn.feedback is None
    assert [turn.id for turn in conversations.get(made).turns] == [why, then]
    conversations.set_feedback(why, 1)  # it belongs to this answer alone
    conversations.choose(why, 1)
    turn = conversations.turn(why)
    assert [found.text for found in (*turn.versions, turn.answer)] == ["C!", "A.", "B."]
    assert turn.feedback is None
    whole = conversations.get(made)
    conversations.restore(whole)
    assert conversations.get(made) == whole


def test_another_question_begins_the_conversation_anew_from_there(conversations: Conversations) -> None:
    made = conversations.create().info.id
    first, why, _ = (conversations.save_turn(made, answer(text)) for text in ("What?", "Why?", "Then?"))
    conversations.save_turn(made, answer("Why now?"), instead_of=why)
    assert said(conversations, made) == ["What?", "Why now?"]
    conversations.save_turn(made, answer("What else?"), instead_of=first)
    assert said(conversations, made) == ["What else?"]
    assert [info.title for info in conversations.list()] == ["What else?"]
    with pytest.raises(UnknownConversation):
        conversations.save_turn(made, answer("Why?"), instead_of=why)
    other = conversations.create().info.id
    with pytest.raises(UnknownConversation):
        conversations.save_turn(other, answer("Why?"), instead_of=conversations.get(made).turns[0].id)
