"""Embeddings from a server: Ollama, OpenAI and compatible ones, each by its own client."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pipeline.models.base import Encoder, prefixes
from pipeline.models.failures import Server, translate
from pipeline.options import ModelServerOptions

MOST_CHARACTERS = 2000  # of a text: 8,000 bytes, so within OpenAI's 8,191 tokens; Ollama cuts to its limit


class RemoteEncoder(Encoder):
    """An embedding model on a server. Its fingerprint is the prefix of passages, which its vectors depend on.

    Nothing is sent before its first use. Raises `ModelUnavailable` for OpenAI without a key or its package.
    """

    def __init__(self, provider: str, model: str, *, options: ModelServerOptions) -> None:
        self.server = Server.of(provider, model, options)
        super().__init__(self.server.name)
        self._query_prefix, self.fingerprint = prefixes(model)
        self._key = options.openai_api_key or "none"  # the client insists on one

    @cached_property
    def _client(self) -> Any:
        import httpx
        import ollama

        http = self.server.http()
        if self.server.provider == "ollama":
            return ollama.Client(self.server.url, **http)
        import openai

        client = httpx.Client(**http)
        return openai.OpenAI(api_key=self._key, base_url=self.server.url, http_client=client)

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        prefix, model = self._query_prefix if is_query else self.fingerprint, self.server.model
        cut = [(prefix + text)[:MOST_CHARACTERS] or " " for text in texts]  # servers refuse empty texts
        try:
            if self.server.provider == "ollama":
                return self._client.embed(model, cut, truncate=True).embeddings
            rows = self._client.embeddings.create(model=model, input=cut, encoding_format="float").data
            return [row.embedding for row in sorted(rows, key=lambda row: row.index)]
        except Exception as error:
            raise translate(error, server=self.server, begun=False) from error
