"""The history as LlamaIndex's memory."""

from __future__ import annotations

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.types import BaseMemory

from pipeline.answering.kept_conversation import History
from pipeline.llamaindex.chat_engine import HistoryMemory, said_in
from pipeline.messages import Message


def test_what_was_said_is_users_and_assistants_text_only() -> None:
    messages = [
        ChatMessage("Rules.", role=MessageRole.SYSTEM),
        ChatMessage("Why?", role=MessageRole.USER),
        ChatMessage("", role=MessageRole.ASSISTANT),
        ChatMessage("{}", role=MessageRole.TOOL),
        ChatMessage("It hums.", role=MessageRole.ASSISTANT),
    ]
    assert said_in(messages) == [Message("user", "Why?"), Message("assistant", "It hums.")]


def test_it_is_llama_indexs_memory() -> None:
    memory = HistoryMemory.from_defaults()
    assert isinstance(memory, BaseMemory)
    memory.put(ChatMessage("Why?", role=MessageRole.USER))
    copy = memory.get()
    copy.clear()
    assert len(memory.get_all()) == 1, "what is given out is a copy"
    memory.set([ChatMessage("One", role=MessageRole.USER), ChatMessage("Two", role=MessageRole.ASSISTANT)])
    assert [(m.role.value, m.content) for m in memory.get("a question")] == [
        ("user", "One"),
        ("assistant", "Two"),
    ]
    memory.reset()
    assert memory.get() == []


def test_the_history_and_its_memory_are_the_same() -> None:
    history = History()
    memory = HistoryMemory.of(history)
    history.remember("Why?", "It hums [1].")
    assert [message.content for message in memory.get()] == ["Why?", "It hums."]
    memory.put(ChatMessage("And then?", role=MessageRole.USER))
    assert history.said()[-1] == Message("user", "And then?")
    memory.reset()
    assert history.said() == []
