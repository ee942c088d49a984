"""The conversation so far, as LlamaIndex's memory and as what condensing and prompting read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.types import BaseMemory
from pydantic import PrivateAttr

from pipeline.citations import without_markers
from pipeline.condense import Said
from pipeline.conversations import Conversation


class TurnMemory(BaseMemory):
    """The messages of one conversation; filled from what is stored, put to after each answer.

    A failed turn with nothing in it is left out: an unanswered question would be answered twice. Markers
    are taken out: their numbers mean nothing in the next prompt.
    """

    _messages: list[ChatMessage] = PrivateAttr(default_factory=list)

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> TurnMemory:  # noqa: ARG003
        """An empty memory."""
        return cls()

    @classmethod
    def of(cls, conversation: Conversation | None) -> TurnMemory:
        """The memory of a stored conversation."""
        memory = cls()
        for turn in conversation.turns if conversation else ():
            memory.remember(turn.question, turn.answer.text)
        return memory

    def remember(self, question: str, answer: str) -> None:
        """Add a turn; one without an answer is left out: it would be answered with the next."""
        if not answer.strip():
            return
        self.put(ChatMessage(role=MessageRole.USER, content=question))
        self.put(ChatMessage(role=MessageRole.ASSISTANT, content=without_markers(answer)))

    def said(self) -> list[Said]:
        """The messages as condensing and prompting read them."""
        return said(self._messages)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002, ARG002
        """All messages."""
        return list(self._messages)

    def get_all(self) -> list[ChatMessage]:
        """All messages."""
        return list(self._messages)

    def put(self, message: ChatMessage) -> None:
        """Add a message."""
        self._messages.append(message)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace all messages."""
        self._messages = list(messages)

    def reset(self) -> None:
        """Forget all messages."""
        self._messages = []


def said(messages: Sequence[ChatMessage]) -> list[Said]:
    """User and assistant messages with text in them."""
    return [
        Said(message.role == MessageRole.USER, message.content)
        for message in messages
        if message.role in (MessageRole.USER, MessageRole.ASSISTANT) and message.content
    ]
