"""The history: what is remembered of turns, and what LlamaIndex sees of it."""

from __future__ import annotations

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from pipeline.answer import Answer
from pipeline.condense import Said
from pipeline.conversations import Conversation, ConversationInfo, Turn
from pipeline.history import TurnMemory, said


def turn(question: str, text: str, **given: object) -> Turn:
    answer = Answer(question, question, text, "quote", "", abstained=False, **given)  # type: ignore[arg-type]
    return Turn(question, question, answer, created_at=0.0)


def conversation(*turns: Turn) -> Conversation:
    return Conversation(ConversationInfo("c", "Title", 0.0, 0.0, len(turns)), turns)


def test_no_conversation_is_an_empty_memory() -> None:
    assert TurnMemory.of(None).get() == []
    assert TurnMemory.from_defaults().get_all() == []


def test_turns_become_messages_without_markers() -> None:
    memory = TurnMemory.of(conversation(turn("Why?", "It hums [1][2]. See `a[1]`.")))
    assert [(m.role.value, m.content) for m in memory.get()] == [
        ("user", "Why?"),
        ("assistant", "It hums. See `a[1]`."),
    ]


def test_a_turn_without_an_answer_is_left_out_and_a_partial_one_is_not() -> None:
    memory = TurnMemory.of(
        conversation(
            turn("One?", " ", status="failed"), turn("Two?", "It hu", status="failed"), turn("Three?", "Yes.")
        )
    )
    assert memory.said() == [
        Said(True, "Two?"), Said(False, "It hu"), Said(True, "Three?"), Said(False, "Yes.")
    ]  # fmt: skip


def test_what_was_said_is_users_and_assistants_text_only() -> None:
    messages = [
        ChatMessage("Rules.", role=MessageRole.SYSTEM),
        ChatMessage("Why?", role=MessageRole.USER),
        ChatMessage("", role=MessageRole.ASSISTANT),
        ChatMessage("{}", role=MessageRole.TOOL),
        ChatMessage("It hums.", role=MessageRole.ASSISTANT),
    ]
    assert said(messages) == [Said(True, "Why?"), Said(False, "It hums.")]


def test_it_is_llama_indexs_memory() -> None:
    memory = TurnMemory()
    memory.put(ChatMessage("Why?", role=MessageRole.USER))
    copy = memory.get()
    copy.clear()
    assert len(memory.get_all()) == 1, "what is given out is a copy"
    memory.set([ChatMessage("One", role=MessageRole.USER), ChatMessage("Two", role=MessageRole.ASSISTANT)])
    assert [m.content for m in memory.get("a question")] == ["One", "Two"]
    memory.reset()
    assert memory.get() == []
