"""Embeddings from a server: Ollama, OpenAI and compatible ones, each by its own client."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import httpx

from pipeline.errors import ModelUnavailable
from pipeline.models.base import Encoder
from pipeline.models.failures import Misbehaviour, Provider, Server, require_address, translate
from pipeline.models.llm import INSTALL_OPENAI
from pipeline.models.wire import client_options, within
from pipeline.options import EncoderOptions

Answer = TypeVar("Answer")
OLLAMA_MAX_TOKENS = 512  # where the server does not say; the context of most BERT-like models
OPENAI_MAX_TOKENS = 8191
MOST_TIMEOUTS = 4  # in a call: OpenAI's client asks up to three times, about a second apart
CHARACTERS_A_TOKEN = 2  # few, so that a cut text is within the limit whatever its language
LOOPBACK = re.compile(r"localhost|::1|127(\.\d+){3}")
WRONG_SHAPE = (ValueError, TypeError, AttributeError, OverflowError, RecursionError)  # of an answer
FAILURES = (httpx.HTTPError, ConnectionError, Misbehaviour, *WRONG_SHAPE)

TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
SENTENCE = "Represent this sentence for searching relevant passages: "
PREFIXES = (  # part of a model's name, prefix of queries, prefix of passages; the first match counts
    (r"e5.*instruct|qwen3-embedding", TASK, ""),
    (r"\be5-", "query: ", "passage: "),
    (r"nomic-embed-text|modernbert-embed", "search_query: ", "search_document: "),
    (r"embeddinggemma", "task: search result | query: ", "title: none | text: "),
    (r"arctic-embed(2|.*v2)", "query: ", ""),
    (r"arctic-embed|mxbai-embed|\bbge-(small|base|large)(?!-zh)", SENTENCE, ""),
)
"""The prefixes that models were trained with, as their model cards give them."""


def prefixes(model: str) -> tuple[str, str]:
    """Return the prefixes of queries and of passages that a model was trained with; "" where it has none."""
    return next(((q, p) for name, q, p in PREFIXES if re.search(name, model.lower())), ("", ""))


class RemoteEncoder(Encoder):
    """The common part of both protocols: prefixes, cut texts, errors that say what to do."""

    _errors: tuple[type[Exception], ...] = FAILURES  # and the client's own

    def __init__(self, model: str, *, provider: Provider, url: str, options: EncoderOptions) -> None:
        super().__init__(f"{provider}/{model}")
        self.url = url
        self._model = model
        self._server = Server(provider, url, model, options.request_timeout_s)
        require_address(self._server)
        self._prefixes = prefixes(model)
        self._http = client_options(
            connect_timeout_s=options.connect_timeout_s,
            read_timeout_s=options.request_timeout_s,
            protocol="whole",
        ) | {"trust_env": not LOOPBACK.fullmatch(httpx.URL(url).host)}  # no proxy to this machine

    @property
    def fingerprint(self) -> str:
        """The prefix of passages: an index made with another one is outdated."""
        return self._prefixes[1]

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        prefix = self._prefixes[0 if is_query else 1]
        limit = self.max_tokens * CHARACTERS_A_TOKEN
        prepared = [(prefix + text)[:limit] or " " for text in texts]  # servers refuse empty texts
        return self._asked(lambda: self._embed(prepared))

    @abstractmethod
    def _embed(self, texts: list[str]) -> Any:
        """Call the server once: a vector for each text, in order."""

    def _asked(self, call: Callable[[], Answer]) -> Answer:
        """Call the client; its errors, and those of an answer of the wrong shape, come as `ModelError`."""
        try:
            with within(MOST_TIMEOUTS * (self._server.timeout_s + 1)):
                return call()
        except self._errors as error:
            raise translate(error, server=self._server, begun=False) from error


class OllamaEncoder(RemoteEncoder):
    """An embedding model that Ollama serves."""

    def __init__(self, model: str, *, options: EncoderOptions) -> None:
        import ollama

        super().__init__(model, provider="ollama", url=options.ollama_url, options=options)
        self._errors = (*FAILURES, ollama.ResponseError)
        self._client = ollama.Client(self.url, **self._http)

    @cached_property
    def max_tokens(self) -> int:
        """The model's context length as Ollama reports it, asked once."""
        info = self._asked(lambda: self._client.show(self._model)).modelinfo or {}
        lengths = [value for key, value in info.items() if key.endswith(".context_length")]
        return max(1, lengths[0]) if lengths and isinstance(lengths[0], int) else OLLAMA_MAX_TOKENS

    def _embed(self, texts: list[str]) -> Any:
        return self._client.embed(self._model, texts, truncate=True).embeddings


class OpenAIEncoder(RemoteEncoder):
    """An embedding model of OpenAI or of a compatible server."""

    max_tokens = OPENAI_MAX_TOKENS

    def __init__(self, model: str, *, options: EncoderOptions) -> None:
        if not options.openai_api_key and not options.openai_base_url:
            raise ModelUnavailable(
                f"The embedding model 'openai/{model}' needs a key.",
                "Set ATHENA_OPENAI_API_KEY, or ATHENA_OPENAI_BASE_URL for a compatible server.",
            )
        try:
            import openai
        except ImportError as error:
            problem = (
                f"The embedding model 'openai/{model}' needs the package openai, which is not installed."
            )
            raise ModelUnavailable(problem, INSTALL_OPENAI) from error
        super().__init__(model, provider="openai", url=options.openai_url, options=options)
        self._errors = (*FAILURES, openai.OpenAIError)
        self._client = openai.OpenAI(
            api_key=options.openai_api_key or "none",  # the client insists on one
            base_url=self.url,
            timeout=self._http["timeout"],
            http_client=httpx.Client(**self._http),
        )

    def _embed(self, texts: list[str]) -> Any:
        answer = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
        return [row.embedding for row in sorted(answer.data, key=lambda row: row.index)]
