"""LlamaIndex's `OpenAILike`, set up so that it can be hung up; importing it needs the extra `[openai]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import httpx
from llama_index.llms.openai_like import OpenAILike

from pipeline.messages import Message
from pipeline.models.deltas import Delta, model_deltas
from pipeline.models.failures import Server
from pipeline.models.transport import HangUpTransport
from pipeline.options import OPENAI_URL


class AthenaOpenAI(OpenAILike):  # type: ignore[misc]
    """A chat model of OpenAI's protocol; it retries nothing by itself."""

    connect_timeout: float = 3.0

    @property
    def server(self) -> Server:
        """Where it is, for error messages."""
        return Server("openai", str(self.api_base), self.model, self.timeout, self.connect_timeout)

    def deltas(self, messages: Sequence[Message], transport: HangUpTransport) -> Iterator[Delta]:
        """Stream an answer through connections that can be hung up."""
        copy: AthenaOpenAI = self.model_copy()
        copy._client = None
        copy._http_client = httpx.Client(transport=transport, follow_redirects=True)
        return model_deltas(copy, messages)


def openai_model(
    model: str,
    *,
    url: str,
    key: str,
    context_window: int,
    max_answer_tokens: int,
    temperature: float,
    connect_timeout_s: float,
    request_timeout_s: float,
) -> AthenaOpenAI:
    """A model of OpenAI or of a compatible server; nothing is asked before it is used."""
    return AthenaOpenAI(
        model=model,
        api_base=url,
        api_key=key or "none",  # compatible servers without keys ignore it, the client insists on one
        context_window=context_window,
        max_tokens=max_answer_tokens,
        temperature=temperature,
        timeout=request_timeout_s,
        connect_timeout=connect_timeout_s,
        max_retries=0,
        is_chat_model=True,
        additional_kwargs=_usage_wanted(url),
    )


def _usage_wanted(url: str) -> dict[str, Any]:
    """Ask OpenAI for token counts at the end of a stream; older compatible servers refuse the option."""
    return {"stream_options": {"include_usage": True}} if url == OPENAI_URL else {}
