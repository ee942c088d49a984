"""LlamaIndex's Ollama model, set up so that it can be hung up and says how long its prompt may be."""

from __future__ import annotations

import ollama
from llama_index.core.base.llms.types import LLMMetadata
from llama_index.core.llms import LLM
from llama_index.llms.ollama import Ollama

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

    def through(self, transport: HangUpTransport) -> LLM:
        """The same model, talking through connections that can be hung up."""
        copy: AthenaOllama = self.model_copy()
        copy._client = ollama.Client(host=self.base_url, transport=transport)
        return copy


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
