"""LlamaIndex's ways into a chat: `chat`, `stream_chat` and their async twins, over one run of events."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.memory.types import BaseMemory
from pydantic import PrivateAttr

from pipeline.answering.kept_conversation import History
from pipeline.chat import ChatRecipe
from pipeline.errors import AthenaError
from pipeline.llamaindex.retriever import HybridRetriever, nodes_with_score
from pipeline.messages import Message
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, SourcesFound, TokenArrived


class ChatEngine(CondensePlusContextChatEngine):
    """LlamaIndex's condense-plus-context engine over a chat: `run` yields events, the others are that run.

    Its memory is the chat's history.
    """

    def __init__(self, recipe: ChatRecipe) -> None:
        super().__init__(
            retriever=HybridRetriever(recipe.parts.hybrid_search),
            llm=recipe.parts.llm,  # type: ignore[arg-type]  # without one the answer is quotes
            memory=HistoryMemory.of(recipe.history),
        )
        self._recipe = recipe

    @property
    def conversation_id(self) -> str:
        """The stored conversation; "" before its first turn."""
        return self._recipe.conversation_id

    def run(
        self,
        message: str,
        *,
        stop: threading.Event | None = None,
        chat_history: list[ChatMessage] | None = None,
    ) -> Iterator[ChatEvent]:
        """Answer a message and yield what happens; the last event is `AnswerFinished` or `RunFailed`."""
        history = None if chat_history is None else said_in(chat_history)
        return self._recipe.run(message, stop=stop, history=history)

    def chat(self, message: str, chat_history: list[ChatMessage] | None = None) -> AgentChatResponse:
        """The whole answer; raises the `AthenaError` that ended a run which failed."""
        nodes: list[Any] = []
        for event in self.run(message, chat_history=chat_history):
            match event:
                case SourcesFound(retrieval=retrieval):
                    nodes = nodes_with_score(retrieval)
                case AnswerFinished(answer=answer):
                    return AgentChatResponse(response=answer.text, source_nodes=nodes)
                case RunFailed() as failure:
                    raise _error_of(failure)
        raise AthenaError("The answer ended unexpectedly.", "Ask again.")

    def stream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """The answer as it is written; quotes and "not in the documents" come in one piece."""
        nodes: list[Any] = []
        return StreamingAgentChatResponse(
            chat_stream=self._chunks(message, chat_history, nodes),
            source_nodes=nodes,
            is_writing_to_memory=False,
        )

    def _chunks(
        self, message: str, chat_history: list[ChatMessage] | None, nodes: list[Any]
    ) -> Generator[ChatResponse, None, None]:
        """The run as LlamaIndex streams it; `nodes` gets the sources as soon as they are found."""
        text = ""
        for event in self.run(message, chat_history=chat_history):
            match event:
                case SourcesFound(retrieval=retrieval):
                    nodes += nodes_with_score(retrieval)
                case TokenArrived(text=delta):
                    text += delta
                    yield _chunk(text, delta)
                case AnswerFinished(answer=answer) if not text:
                    yield _chunk(answer.text, answer.text)
                case RunFailed() as failure:
                    raise _error_of(failure)

    async def achat(self, message: str, chat_history: list[ChatMessage] | None = None) -> AgentChatResponse:
        """`chat` in a thread."""
        return await asyncio.to_thread(self.chat, message, chat_history)

    async def astream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """`stream_chat` with an async stream."""
        nodes: list[Any] = []
        chunks = self._chunks(message, chat_history, nodes)
        return StreamingAgentChatResponse(
            achat_stream=_async(chunks), source_nodes=nodes, is_writing_to_memory=False
        )


def _error_of(failure: RunFailed) -> AthenaError:
    return failure.error or AthenaError(failure.message, failure.fix)


def _chunk(text: str, delta: str) -> ChatResponse:
    return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text), delta=delta)


async def _async(chunks: Generator[ChatResponse, None, None]) -> AsyncGenerator[ChatResponse, None]:
    with closing(chunks):
        while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            yield chunk


class HistoryMemory(BaseMemory):
    """A history seen as a memory: what is put into one is in the other.

    It keeps what users and assistants said; other messages (system, tool) and empty ones are not kept.
    """

    _history: History = PrivateAttr(default_factory=History)

    @classmethod
    def of(cls, history: History) -> HistoryMemory:
        """The memory that this history is."""
        memory = cls()
        memory._history = history
        return memory

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> HistoryMemory:  # noqa: ARG003
        """An empty memory."""
        return cls()

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002, ARG002
        """All messages."""
        return self.get_all()

    def get_all(self) -> list[ChatMessage]:
        """All messages."""
        return [ChatMessage(role=said.role, content=said.text) for said in self._history.said()]

    def put(self, message: ChatMessage) -> None:
        """Add a message."""
        for said in said_in([message]):
            self._history.add(said)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace all messages."""
        self._history.replace(said_in(messages))

    def reset(self) -> None:
        """Forget all messages."""
        self._history.replace([])


def said_in(messages: Sequence[ChatMessage]) -> list[Message]:
    """User and assistant messages with text in them."""
    return [
        Message("user" if message.role == MessageRole.USER else "assistant", message.content)
        for message in messages
        if message.role in (MessageRole.USER, MessageRole.ASSISTANT) and message.content
    ]
