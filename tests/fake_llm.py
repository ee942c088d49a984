"""Language models that say what they are told to; `FakeLLM` records what it was asked."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms import CustomLLM

from pipeline.models.clients import Piece
from pipeline.models.failures import Server

FakeReply = str | Exception | Callable[[str], str]


class FakeLLM(CustomLLM):
    """Gives its replies in order, streamed by words; an exception is raised, a function gets the prompt.

    `prompts` holds each prompt as one text, `messages` as it came. It waits `pause_s` before each word, and
    after `fails_after` words raises `ConnectionError`. With `repeat` the last reply serves all further calls.
    """

    model_name: str = "fake-llm"
    window: int = 8192
    pause_s: float = 0.0
    fails_after: int | None = None
    repeat: bool = False
    _replies: list[Any] = PrivateAttr(default_factory=list)
    _messages: list[list[ChatMessage]] = PrivateAttr(default_factory=list)

    def __init__(self, replies: Sequence[FakeReply] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._replies = list(replies)
        self._messages = []

    @property
    def messages(self) -> list[list[ChatMessage]]:
        """The messages of each call."""
        return self._messages

    @property
    def prompts(self) -> list[str]:
        """The messages of each call as one text: a line "role: text" each."""
        return ["\n".join(str(message) for message in call) for call in self._messages]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=self.window, is_chat_model=True, model_name=self.model_name)

    def _next(self, messages: Sequence[ChatMessage]) -> str:
        self._messages.append(list(messages))
        assert self._replies, f"FakeLLM has no reply left for: {self.prompts[-1][-200:]}"
        reply = self._replies[0] if self.repeat and len(self._replies) == 1 else self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, str) else reply(self.prompts[-1])

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=ChatMessage(self._next(messages), role=MessageRole.ASSISTANT))

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        reply = self._next(messages)

        def pieces() -> ChatResponseGen:
            text = ""
            for count, piece in enumerate(re.findall(r"\s*\S+|\s+$", reply)):
                if count == self.fails_after:
                    raise ConnectionError("the fake model went away")
                time.sleep(self.pause_s)
                text += piece
                yield ChatResponse(message=ChatMessage(text, role=MessageRole.ASSISTANT), delta=piece)

        return pieces()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self._next([ChatMessage(prompt)]))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        raise NotImplementedError


@dataclass(frozen=True)
class PiecesModel:
    """A model of ours that writes these pieces, and says at the end why it ended."""

    pieces: Sequence[str]
    reason: str = ""
    server = Server("local", "", "pieces", 1.0)

    async def stream(self, *_: object) -> AsyncIterator[Piece]:
        for piece in self.pieces:
            yield Piece(piece)
        yield Piece(finish_reason=self.reason)
