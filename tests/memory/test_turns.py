"""A user's turns as their index follows the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.turns import ANSWER, UserTurns
from pipeline.answer import Answer
from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded.database import Database
from pipeline.stores.embedded.rows import EmbeddedRows
from pipeline.stores.private import PrivateConversations
from tests.memory.fake_memories import FakeEncoder


class CountingEncoder(FakeEncoder):
    """Counts the passages that it embeds."""

    def __init__(self) -> None:
        self.embedded = 0

    def encode_passages(self, texts: list[str], **_: object) -> NDArray[np.float32]:  # type: ignore[override]
        self.embedded += len(texts)
        return super().encode_passages(texts)


@pytest.fixture
def conversations(tmp_path: Path) -> Iterator[Conversations]:
    with closing(Database(tmp_path / "athena.sqlite")) as database:
        yield Conversations(EmbeddedRows(database))


def answer(question: str, text: str = "It hums.") -> Answer:
    return Answer(
        question=question, condensed_question=question, text=text, mode="generate", model="fake",
        abstained=False, verdict="answered",
    )  # fmt: skip


def turns_of(conversations: Conversations, encoder: FakeEncoder | None = None) -> UserTurns:
    return UserTurns(conversations, "local", encoder=lambda: encoder or FakeEncoder())


def test_what_is_said_is_found_with_its_answer_at_once(conversations: Conversations) -> None:
    turns = turns_of(conversations)
    assert turns.search("Where is my sextant?").found == ()
    id_ = conversations.create().info.id
    first = conversations.save_turn(id_, answer("My sextant is in the attic.", "Noted in the log."))
    (best, *_) = turns.search("Where is my sextant?").found
    assert (best.turn.id, best.turn.text, best.turn.role) == (first, "My sextant is in the attic.", "user")
    conversations.save_turn(id_, answer("The attic leaks."))
    assert {turn.id for turn in turns.all()} >= {first, first + ANSWER}
    assert turns.search("Does the attic leak?").found[0].turn.text == "The attic leaks."


def test_what_is_deleted_is_found_no_more(conversations: Conversations) -> None:
    turns = turns_of(conversations)
    gone, stays = (conversations.create().info.id for _ in range(2))
    conversations.save_turn(gone, answer("My sextant is in the attic."))
    conversations.save_turn(stays, answer("My compass is in the cellar."))
    assert len(turns.all()) == 4
    conversations.delete(gone)
    assert {turn.session for turn in turns.all()} == {stays}


def test_another_process_embeds_nothing_again(conversations: Conversations) -> None:
    id_ = conversations.create().info.id
    conversations.save_turn(id_, answer("My sextant is in the attic."))
    first, second = CountingEncoder(), CountingEncoder()
    found = turns_of(conversations, first).search("sextant").found
    again = turns_of(conversations, second).search("sextant").found
    assert (first.embedded, second.embedded) == (2, 0)
    assert [item.score for item in found] == [item.score for item in again]


def test_an_answer_that_is_rewritten_takes_the_place_of_the_first(conversations: Conversations) -> None:
    turns = turns_of(conversations)
    id_ = conversations.create().info.id
    so_far = replace(answer("How loud is the fan?", "It hu"), status="stopped")
    turn_id = conversations.save_turn(id_, so_far)
    assert [turn.text for turn in turns.all()] == ["How loud is the fan?"]
    conversations.save_turn(id_, replace(answer("How loud is the fan?", "It hums."), turn_id=turn_id))
    assert [turn.text for turn in turns.all()] == ["How loud is the fan?", "It hums."]


@pytest.mark.parametrize(
    ("said", "speaker", "text"),
    [
        ("Nadia: I paint fences.", "Nadia", "I paint fences."),
        ("Anna Maria: hello", "Anna Maria", "hello"),
        ("Note: I paint fences.", "", "Note: I paint fences."),
        ("at 10: I paint", "", "at 10: I paint"),
    ],
)
def test_a_message_that_begins_with_a_name_is_that_persons(
    conversations: Conversations, said: str, speaker: str, text: str
) -> None:
    conversations.save_turn(conversations.create().info.id, answer(said, ""))
    (turn,) = turns_of(conversations).all()
    assert (turn.speaker, turn.text) == (speaker, text)


def test_another_users_and_private_turns_are_not_there(conversations: Conversations) -> None:
    private = PrivateConversations()
    private.save_turn(private.create().info.id, answer("My pin is 4."))
    conversations.save_turn(conversations.create(user="eve").info.id, answer("My pin is 5."))
    assert turns_of(conversations).all() == ()


def test_a_secret_is_neither_found_nor_told(conversations: Conversations) -> None:
    conversations.save_turn(
        conversations.create().info.id, answer("my wifi password is hunter2abc and my bunk is 4", "")
    )
    (turn,) = turns_of(conversations).all()
    assert "hunter2abc" not in turn.text
    assert "my bunk is 4" in turn.text


def test_a_search_shows_turns_with_all_words(conversations: Conversations) -> None:
    id_ = conversations.create().info.id
    for said in ("Nadia: I paint fences.", "The fences are green."):
        conversations.save_turn(id_, answer(said, ""))
    turns = turns_of(conversations)
    found = turns.find("green fences", least=0.99, limit=10)
    assert [item.turn.text for item in found] == ["The fences are green."]
    assert [turn.text for turn in turns.own("green")] == ["The fences are green."]
