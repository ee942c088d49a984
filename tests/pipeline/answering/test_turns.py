"""The history: what is remembered of turns."""

from __future__ import annotations

from pipeline.answer import Answer, Message
from pipeline.answering.turns import history_of
from pipeline.stores.conversations import Conversation, ConversationInfo
from pipeline.stores.turns import Turn


def turn(question: str, text: str, **given: object) -> Turn:
    answer = Answer(question, question, text, "quote", "", abstained=False, **given)  # type: ignore[arg-type]
    return Turn(question, answer, created_at=0.0)


def conversation(*turns: Turn) -> Conversation:
    return Conversation(ConversationInfo("c", "Title", 0.0, 0.0), turns)


def test_turns_become_messages_without_markers() -> None:
    assert history_of(None) == []
    history = history_of(conversation(turn("Why?", "It hums [1][2]. See `a[1]`.")))
    assert history == [Message("user", "Why?"), Message("assistant", "It hums. See `a[1]`.")]


def test_a_turn_without_an_answer_is_left_out_and_a_partial_one_is_not() -> None:
    history = history_of(
        conversation(
            turn("One?", " ", status="failed"), turn("Two?", "It hu", status="failed"), turn("Three?", "Yes.")
        )
    )
    assert history == [
        Message("user", "Two?"),
        Message("assistant", "It hu"),
        Message("user", "Three?"),
        Message("assistant", "Yes."),
    ]
