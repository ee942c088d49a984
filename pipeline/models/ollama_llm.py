"""LlamaIndex's Ollama model, set up so that it can be hung up and says how long its prompt may be."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import ollama
from llama_index.core.base.llms.types import LLMMetadata
from llama_index.llms.ollama import Ollama

from pipeline.messages import Message
from pipeline.models.deltas import Delta, delta_of_line
from pipeline.models.failures import Server
from pipeline.models.transport import HangUpTransport

KEEP_ALIVE = "15m"  # a conversation's pauses should not unload the model


class AthenaOllama(Ollama):  # type: ignore[misc]
    """A model of Ollama: `num_ctx` is always sent, and metadata never asks the server.

    LlamaIndex's class sends `context_window` as `num_ctx` where it is given; here it always is.
    """

    connect_timeout: float = 3.0

    @property
    def server(self) -> Server:
        """Where it is, for error messages."""
        return Server("ollama", self.base_url, self.model, self.request_timeout, self.connect_timeout)

    @property
    def metadata(self) -> LLMMetadata:
        """What LlamaIndex asks about the model; answers are as long as `num_predict` allows."""
        longest = self.additional_kwargs.get("num_predict")
        found: LLMMetadata = super().metadata
        return found.model_copy(update={"num_output": longest} if longest else {})

    def deltas(self, messages: Sequence[Message], transport: HangUpTransport) -> Iterator[Delta]:
        """Stream an answer by Ollama's protocol, a line of JSON a token.

        `stream_chat` makes .2 ms of objects of each, most of them for who watches LlamaIndex; this, .04 ms.
        """
        with (
            httpx.Client(transport=transport, follow_redirects=True) as client,
            client.stream("POST", self._url, json=self._request(messages), headers=self._headers) as response,
        ):
            if response.is_error:
                response.read()
                response.raise_for_status()
            for line in response.iter_lines():
                yield _delta(json.loads(line))

    @property
    def _url(self) -> str:
        return f"{self.base_url.rstrip('/')}/api/chat"

    @property
    def _headers(self) -> dict[str, str]:
        """Those given, and the key of Ollama's cloud where the environment has one, as in its package."""
        key = os.environ.get("OLLAMA_API_KEY")
        return ({"Authorization": f"Bearer {key}"} if key else {}) | (self.headers or {})

    def _request(self, messages: Sequence[Message]) -> dict[str, Any]:
        """What `stream_chat` would send."""
        options = {"temperature": self.temperature, "num_ctx": self.context_window, **self.additional_kwargs}
        thinking = {} if self.thinking is None else {"think": self.thinking}
        return {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.text} for message in messages],
            "stream": True,
            "options": options,
            "keep_alive": self.keep_alive,
            **thinking,
        }


def _delta(line: dict[str, Any]) -> Delta:
    if error := line.get("error"):
        raise ollama.ResponseError(error)
    return delta_of_line(line, (line.get("message") or {}).get("content") or "")


def ollama_model(
    model: str,
    *,
    url: str,
    context_window: int,
    max_answer_tokens: int,
    temperature: float,
    connect_timeout_s: float,
    request_timeout_s: float,
) -> AthenaOllama:
    """A model of an Ollama server; nothing is asked before it is used."""
    return AthenaOllama(
        model=model,
        base_url=url,
        temperature=temperature,
        context_window=context_window,
        request_timeout=request_timeout_s,
        connect_timeout=connect_timeout_s,
        is_function_calling_model=False,
        keep_alive=KEEP_ALIVE,
        additional_kwargs={"num_predict": max_answer_tokens},
    )
