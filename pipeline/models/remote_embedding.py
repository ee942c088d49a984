"""Embeddings from a server: Ollama, OpenAI and compatible ones, each by its own client."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

import httpx
import ollama

from pipeline.errors import ModelUnavailable
from pipeline.models.base import MOST_TOKENS, USUAL_TOKENS, Encoder
from pipeline.models.connections import HOOKS, client_options
from pipeline.models.failures import Provider, Server, translate
from pipeline.models.llm import INSTALL_OPENAI
from pipeline.options import EncoderOptions

# Embeds texts in one request, a row of numbers for each, in their order; and the base of the client's errors.
Caller: TypeAlias = tuple[Callable[[list[str]], Any], type[Exception]]
MOST_CHARACTERS = 2000  # of a text: 8,000 bytes, so within OpenAI's 8,191 tokens; Ollama cuts to its limit
WRONG_SHAPE = (ValueError, TypeError, AttributeError, OverflowError, RecursionError)  # of an answer
FAILURES = (httpx.HTTPError, httpx.InvalidURL, ConnectionError, *WRONG_SHAPE)  # beside a client's own

SENTENCE = "Represent this sentence for searching relevant passages: "
PREFIXES = (  # part of a model's name, prefix of queries, prefix of passages; the first match counts
    (r"\be5-(?!.*instruct)", "query: ", "passage: "),
    (r"nomic-embed-text", "search_query: ", "search_document: "),
    (r"embeddinggemma", "task: search result | query: ", "title: none | text: "),
    (r"arctic-embed(2|.*v2)", "query: ", ""),
    (r"arctic-embed|mxbai-embed|\bbge-(small|base|large)(?!-zh)", SENTENCE, ""),
)
"""The prefixes that models were trained with, as their model cards give them."""


def prefixes(model: str) -> tuple[str, str]:
    """Return the prefixes of queries and of passages that a model was trained with; "" where it has none."""
    return next(((q, p) for name, q, p in PREFIXES if re.search(name, model.lower())), ("", ""))


class RemoteEncoder(Encoder):
    """An embedding model on a server. Its fingerprint is the prefix of passages, which its vectors depend on.

    Nothing is sent before its first use. Raises `ModelUnavailable` for a URL that is none, and for OpenAI
    without a key or without the package.
    """

    def __init__(self, provider: Provider, model: str, *, options: EncoderOptions) -> None:
        self.url = options.ollama_url if provider == "ollama" else options.openai_url
        self._server = Server(provider, self.url, model, options.request_timeout_s)
        super().__init__(self._server.name)
        try:
            httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise translate(error, server=self._server, begun=False) from error
        self._query_prefix, self.fingerprint = prefixes(model)
        times = {"connect_timeout_s": options.connect_timeout_s, "read_timeout_s": options.request_timeout_s}
        http = {**client_options(self.url, **times), "event_hooks": HOOKS}
        self._limit: Callable[[], int] = lambda: MOST_TOKENS  # OpenAI's models read 8,191
        if provider == "ollama":
            self._embed, self._failure = _ollama(self._server, http)
            self._limit = lambda: _context_length(ollama.Client(self.url, **http), model)
        else:
            self._embed, self._failure = _openai(self._server, http, options=options)

    @cached_property
    def max_tokens(self) -> int:
        """The server's limit for the model, at most `MOST_TOKENS`."""
        return min(int(self._asked(self._limit)), MOST_TOKENS)

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        prefix = self._query_prefix if is_query else self.fingerprint
        cut = [(prefix + text)[:MOST_CHARACTERS] or " " for text in texts]  # servers refuse empty texts
        return self._asked(lambda: self._embed(cut))

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """Return the server's answer to one request; raises `ModelError`."""
        try:
            return ask()
        except (self._failure, *FAILURES) as error:
            raise translate(error, server=self._server, begun=False) from error


def _ollama(server: Server, http: dict[str, Any]) -> Caller:
    client = ollama.Client(server.url, **http)
    return lambda texts: client.embed(server.model, texts, truncate=True).embeddings, ollama.ResponseError


def _context_length(client: ollama.Client, model: str) -> int:
    """Return how many tokens an Ollama model reads, by its description."""
    described = client.show(model).modelinfo or {}
    lengths = (value for name, value in described.items() if name.endswith(".context_length"))
    return next(lengths, USUAL_TOKENS)


def _openai(server: Server, http: dict[str, Any], *, options: EncoderOptions) -> Caller:
    if not options.openai_api_key and not options.openai_base_url:
        fix = "Set ATHENA_OPENAI_API_KEY, or ATHENA_OPENAI_BASE_URL for a compatible server."
        raise ModelUnavailable(f"The embedding model '{server.name}' needs a key.", fix)
    try:
        import openai
    except ImportError as error:
        problem = f"The model '{server.name}' needs the package openai, which is not installed."
        raise ModelUnavailable(problem, INSTALL_OPENAI) from error
    key = options.openai_api_key or "none"  # the client insists on one
    given = {"timeout": http["timeout"], "http_client": httpx.Client(**http)}
    create = openai.OpenAI(api_key=key, base_url=server.url, **given).embeddings.create

    def embed(texts: list[str]) -> Any:
        rows = create(model=server.model, input=texts, encoding_format="float").data
        return [row.embedding for row in sorted(rows, key=lambda row: row.index)]

    return embed, openai.OpenAIError
