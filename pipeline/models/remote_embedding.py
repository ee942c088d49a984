"""Embeddings from a server: Ollama, OpenAI and compatible ones, each by its own client."""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from typing import Any

import httpx
import ollama

from pipeline.errors import ModelUnavailable
from pipeline.models.base import Encoder, prefixes
from pipeline.models.failures import Provider, Server, translate
from pipeline.models.llm import INSTALL_OPENAI, NEEDS_KEY
from pipeline.options import ModelServerOptions

MOST_CHARACTERS = 2000  # of a text: 8,000 bytes, so within OpenAI's 8,191 tokens; Ollama cuts to its limit
WRONG_SHAPE = (ValueError, TypeError, AttributeError, OverflowError, RecursionError)  # of an answer
FAILURES: tuple[type[Exception], ...] = (
    httpx.HTTPError, httpx.InvalidURL, ConnectionError, ollama.ResponseError, *WRONG_SHAPE,
)  # fmt: skip


class RemoteEncoder(Encoder):
    """An embedding model on a server. Its fingerprint is the prefix of passages, which its vectors depend on.

    Nothing is sent before its first use. Raises `ModelUnavailable` for OpenAI without a key or its package.
    """

    def __init__(self, provider: Provider, model: str, *, options: ModelServerOptions) -> None:
        self.url = options.ollama_url if provider == "ollama" else options.openai_url
        self._server = Server(provider, self.url, model, options.request_timeout_s)
        super().__init__(self._server.name)
        self._query_prefix, self.fingerprint = prefixes(model)
        self._key = options.openai_api_key or "none"  # the client insists on one
        if provider == "openai" and not options.openai_api_key and not options.openai_base_url:
            raise ModelUnavailable(f"The embedding model '{self.name}' needs a key.", NEEDS_KEY)
        if provider == "openai" and find_spec("openai") is None:
            problem = f"The model '{self.name}' needs the package openai, which is not installed."
            raise ModelUnavailable(problem, INSTALL_OPENAI)

    @cached_property
    def _client(self) -> Any:
        http = self._server.http()
        if self._server.provider == "ollama":
            return ollama.Client(self.url, **http)
        import openai

        return openai.OpenAI(api_key=self._key, base_url=self.url, http_client=httpx.Client(**http))

    @cached_property
    def _failures(self) -> tuple[type[Exception], ...]:
        if self._server.provider == "ollama":
            return FAILURES
        import openai

        return (*FAILURES, openai.OpenAIError)

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        prefix, model = self._query_prefix if is_query else self.fingerprint, self._server.model
        cut = [(prefix + text)[:MOST_CHARACTERS] or " " for text in texts]  # servers refuse empty texts
        try:
            if self._server.provider == "ollama":
                return self._client.embed(model, cut, truncate=True).embeddings
            rows = self._client.embeddings.create(model=model, input=cut, encoding_format="float").data
            return [row.embedding for row in sorted(rows, key=lambda row: row.index)]
        except self._failures as error:
            raise translate(error, server=self._server, begun=False) from error
