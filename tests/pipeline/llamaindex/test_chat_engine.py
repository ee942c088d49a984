"""A chat as LlamaIndex sees it: the contract of its chat engines, over the same run."""

from __future__ import annotations

import asyncio
import threading

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.memory.types import BaseMemory

from pipeline.answering.kept_conversation import History
from pipeline.errors import AthenaError, ModelUnavailable, StoreError, UnknownConversation
from pipeline.llamaindex.chat_engine import HistoryMemory, said_in
from pipeline.messages import Message
from pipeline.steps.events import AnswerFinished, SourcesFound
from pipeline.stores.embedded import EmbeddedStore
from tests.fake_llm import FakeLLM
from tests.pipeline.chat_runs import Chat, NewChat, failing

QUESTION = "At how many rpm does the cabin fan hum?"
REPLY = "The fan hums at 4000 rpm [1]. A broken fan shows OFFLINE [1]."
CITED = "The fan hums at 4000 rpm [1]. A broken fan shows OFFLINE [2]."


def roles(chat: Chat) -> list[str]:
    return [message.role.value for message in chat.engine.chat_history]


def test_chat_gives_the_answer_and_its_sources(new_chat: NewChat) -> None:
    chat = new_chat(llm=FakeLLM([REPLY]))
    response = chat.engine.chat(QUESTION)
    assert isinstance(response, AgentChatResponse)
    assert response.response == CITED
    assert "hums" in response.source_nodes[0].text
    assert roles(chat) == ["user", "assistant"]
    chat.engine.reset()
    assert chat.engine.chat_history == []


def test_chat_takes_a_history(new_chat: NewChat) -> None:
    chat = new_chat()
    history = [
        ChatMessage("The LN2 tank shows OFFLINE, what do I check?", role=MessageRole.USER),
        ChatMessage("The breaker.", role=MessageRole.ASSISTANT),
    ]
    chat.engine.chat("and if that does not help?", chat_history=history)
    assert "LN2 tank" in chat.turns[0].answer.condensed_question
    assert roles(chat) == ["user", "assistant", "user", "assistant"]


def test_streaming_gives_the_tokens_and_no_thread_writes_behind_ones_back(new_chat: NewChat) -> None:
    chat = new_chat(llm=FakeLLM([REPLY]))
    response = chat.engine.stream_chat(QUESTION)
    assert isinstance(response, StreamingAgentChatResponse)
    pieces = list(response.response_gen)
    assert len(pieces) > 5
    assert "".join(pieces) == REPLY
    assert response.response == REPLY
    assert response.source_nodes
    assert roles(chat) == ["user", "assistant"]


def test_quotes_stream_in_one_piece(new_chat: NewChat) -> None:
    chat = new_chat()
    (piece,) = chat.engine.stream_chat(QUESTION).response_gen
    assert "4000 rpm" in piece
    assert piece == chat.turns[0].answer.text


def test_the_async_ways_are_the_same(new_chat: NewChat) -> None:
    chat = new_chat(llm=FakeLLM([REPLY, QUESTION, REPLY]))

    async def both() -> tuple[str, str]:
        whole = await chat.engine.achat(QUESTION)
        stream = await chat.engine.astream_chat(QUESTION)
        return whole.response, "".join([piece async for piece in stream.async_response_gen()])

    whole, streamed = asyncio.run(both())
    assert "4000 rpm [1]" in whole
    assert streamed == REPLY
    assert roles(chat) == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("way", ["chat", "stream"])
@pytest.mark.parametrize("kind", [ModelUnavailable, StoreError, UnknownConversation])
def test_failures_are_raised_as_they_are_and_leave_no_orphan(
    new_chat: NewChat, manual: EmbeddedStore, way: str, kind: type[AthenaError]
) -> None:
    chat = new_chat(hybrid_search=failing(manual, kind("It is gone.", "Start it.")))
    with pytest.raises(kind, match=r"It is gone\. Start it\."):
        if way == "chat":
            chat.engine.chat(QUESTION)
        else:
            list(chat.engine.stream_chat(QUESTION).response_gen)
    assert chat.engine.chat_history == []


def test_it_is_llama_indexs_engine_and_its_run_the_same(new_chat: NewChat) -> None:
    chat = new_chat(llm=FakeLLM([QUESTION, REPLY]))
    engine = chat.engine
    assert isinstance(engine, CondensePlusContextChatEngine)
    history = [
        ChatMessage("The fan?", role=MessageRole.USER),
        ChatMessage("Yes.", role=MessageRole.ASSISTANT),
    ]
    *events, last = engine.run(QUESTION, stop=threading.Event(), chat_history=history)
    assert any(isinstance(event, SourcesFound) for event in events)
    assert isinstance(last, AnswerFinished)
    assert engine.conversation_id == last.answer.conversation_id
    assert roles(chat) == ["user", "assistant", "user", "assistant"]


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
