"""Embeddings from a server: Ollama, OpenAI and compatible ones, each by its own client."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any

import httpx
import ollama

from pipeline.errors import ModelUnavailable
from pipeline.models.base import Encoder
from pipeline.models.failures import Misbehaviour, Server, require_address, translate
from pipeline.models.llm import INSTALL_OPENAI
from pipeline.models.wire import client_options, within
from pipeline.options import EncoderOptions

MOST_TIMEOUTS = 4  # in a call: OpenAI's client asks up to three times, about a second apart
MOST_CHARACTERS = 2000  # of a text: 8,000 bytes, so within OpenAI's 8,191 tokens; Ollama cuts to its limit
WRONG_SHAPE = (ValueError, TypeError, AttributeError, OverflowError, RecursionError)  # of an answer
FAILURES = (httpx.HTTPError, ConnectionError, Misbehaviour, *WRONG_SHAPE)  # beside a client's own

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
    """The common part of both protocols: prefixes, cut texts, errors that say what to do.

    The fingerprint is the prefix of passages, which their vectors depend on.
    """

    _failure: type[Exception]  # the base of the client's own

    def __init__(self, server: Server, *, options: EncoderOptions) -> None:
        super().__init__(server.name)
        require_address(server)
        self.url = server.url
        self._server = server
        self._query_prefix, self.fingerprint = prefixes(server.model)
        times = {"connect_timeout_s": options.connect_timeout_s, "read_timeout_s": server.timeout_s}
        self._http = client_options(**times, protocol="whole")

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        prefix = self._query_prefix if is_query else self.fingerprint
        cut = [(prefix + text)[:MOST_CHARACTERS] or " " for text in texts]  # servers refuse empty texts
        try:
            with within(MOST_TIMEOUTS * (self._server.timeout_s + 1)):
                return self._embed(cut)
        except (self._failure, *FAILURES) as error:
            raise translate(error, server=self._server, begun=False) from error

    @abstractmethod
    def _embed(self, texts: list[str]) -> Any:
        """Call the server once: a vector for each text, in order."""


class OllamaEncoder(RemoteEncoder):
    """An embedding model that Ollama serves; raises `ModelUnavailable` for a URL that is none."""

    _failure = ollama.ResponseError

    def __init__(self, model: str, *, options: EncoderOptions) -> None:
        server = Server("ollama", options.ollama_url, model, options.request_timeout_s)
        super().__init__(server, options=options)
        self._client = ollama.Client(self.url, **self._http)

    def _embed(self, texts: list[str]) -> Any:
        return self._client.embed(self._server.model, texts, truncate=True).embeddings


class OpenAIEncoder(RemoteEncoder):
    """An embedding model of OpenAI or of a compatible server.

    Raises `ModelUnavailable` without a key, without the package openai, and for a URL that is none.
    """

    def __init__(self, model: str, *, options: EncoderOptions) -> None:
        server = Server("openai", options.openai_url, model, options.request_timeout_s)
        super().__init__(server, options=options)
        if not options.openai_api_key and not options.openai_base_url:
            fix = "Set ATHENA_OPENAI_API_KEY, or ATHENA_OPENAI_BASE_URL for a compatible server."
            raise ModelUnavailable(f"The embedding model '{self.name}' needs a key.", fix)
        try:
            import openai
        except ImportError as error:
            problem = f"The model '{self.name}' needs the package openai, which is not installed."
            raise ModelUnavailable(problem, INSTALL_OPENAI) from error
        self._failure = openai.OpenAIError
        http = httpx.Client(**self._http)
        key = options.openai_api_key or "none"  # the client insists on one
        self._client = openai.OpenAI(api_key=key, base_url=self.url, timeout=http.timeout, http_client=http)

    def _embed(self, texts: list[str]) -> Any:
        create = self._client.embeddings.create
        rows = create(model=self._server.model, input=texts, encoding_format="float").data
        return [row.embedding for row in sorted(rows, key=lambda row: row.index)]
