"""The history of a conversation as LlamaIndex's memory, and its messages as those of a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.types import BaseMemory
from pydantic import PrivateAttr

from pipeline.answering.history import History
from pipeline.messages import Message


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
