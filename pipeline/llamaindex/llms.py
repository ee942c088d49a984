"""Converters of language models: LlamaIndex's into ours, and ours into LlamaIndex's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pipeline.answer import Message
from pipeline.errors import ConfigurationError
from pipeline.models.base import ModelChoice
from pipeline.models.clients import KEEP_ALIVE, LanguageModel, OllamaModel, OpenAIModel, Piece, Schema
from pipeline.models.failures import Server

if TYPE_CHECKING:
    from llama_index.core.llms import LLM


@dataclass(frozen=True, slots=True)
class GivenModel:
    """An adapter from any LlamaIndex LLM, local or remote, to `LanguageModel`."""

    llm: LLM

    @property
    def server(self) -> Server:
        """This process as a server, with the model's name, or its class's name if it has none."""
        name = self.llm.metadata.model_name
        return Server("local", "", type(self.llm).__name__ if name in ("", "unknown") else name, inf)

    async def stream(self, messages: Sequence[Message], schema: Schema | None) -> AsyncIterator[Piece]:  # noqa: ARG002
        """Yield the reply as it arrives; `schema` is ignored: only the prompt can ask for JSON."""
        from llama_index.core.base.llms.types import ChatMessage

        asked = [ChatMessage(role=one.role, content=one.text) for one in messages]
        async for response in await self.llm.astream_chat(asked):
            yield Piece(response.delta or "", response.additional_kwargs.get("thinking_delta") or "")
            await asyncio.sleep(0)  # a model without awaits can be stopped here


def language_model_of(llm: LLM) -> tuple[LanguageModel, ModelChoice]:
    """Return a LlamaIndex `LLM` as our model, with its choice; raises `ConfigurationError` for others."""
    from llama_index.core.llms import LLM

    if not isinstance(llm, LLM):
        raise ConfigurationError(f"`llm` is a '{type(llm).__name__}'.", "Give a LlamaIndex LLM, or a name.")
    model = GivenModel(llm)
    return model, ModelChoice("language model", model.server.name, "given", "given by the program")


def llama_index_llm(model: LanguageModel) -> LLM:
    """Return LlamaIndex's LLM for a language model; only its asynchronous calls have our HTTP options.

    Its metadata says whether it can call functions: Ollama is asked; of other servers, only OpenAI's can.
    """
    if isinstance(model, OllamaModel):
        import ollama
        from llama_index.llms.ollama import Ollama

        options, server = model.options, model.server
        with ollama.Client(server.url, **server.http()) as client:
            capabilities = client.show(server.model).capabilities or ()
        return Ollama(  # type: ignore[no-any-return]
            model=server.model,
            base_url=server.url,
            temperature=options.temperature,
            context_window=options.context_window,  # so metadata never asks the server
            request_timeout=options.request_timeout_s,
            async_client=ollama.AsyncClient(server.url, **server.http()),
            is_function_calling_model="tools" in capabilities,
            keep_alive=KEEP_ALIVE,
            thinking=options.think,
            additional_kwargs={"num_predict": options.max_answer_tokens},
        )
    if isinstance(model, OpenAIModel):
        import httpx
        from llama_index.llms.openai_like import OpenAILike

        options, server = model.options, model.server
        return OpenAILike(  # type: ignore[no-any-return]
            model=server.model,
            api_base=server.url,
            api_key=options.openai_api_key or "none",
            context_window=options.context_window,
            max_tokens=options.max_answer_tokens,
            temperature=options.temperature,
            timeout=options.request_timeout_s,
            max_retries=1,
            async_http_client=httpx.AsyncClient(**server.http()),
            is_chat_model=True,
            is_function_calling_model=urlsplit(server.url).hostname == "api.openai.com",
            additional_kwargs={"stream_options": {"include_usage": True}},
        )
    assert isinstance(model, GivenModel), model  # noqa: S101  (there are three)
    return model.llm
