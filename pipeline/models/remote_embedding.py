"""Embeddings from a server: Ollama, OpenAI, and whatever speaks OpenAI's protocol.

A text that the server does not embed is a clear error; no vector is ever made up.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ModelError
from pipeline.models.failures import (
    Misbehaviour,
    Provider,
    Server,
    require_address,
    translate,
    worth_retrying,
)
from pipeline.models.onnx import BUNDLED_FOLDER, open_tokenizer
from pipeline.models.wire import Json, ask
from pipeline.options import EncoderOptions

BATCH_TEXTS = 64
RETRY_AFTER_S = 0.5
OLLAMA_MAX_TOKENS = 512  # where the server does not say; the context of most BERT-like models
OPENAI_MAX_TOKENS = 8191
MOST_TOKENS = 1_000_000
CHARACTERS_A_TOKEN = 2  # few, so that a cut text is within the limit whatever its language


class RemoteEncoder(ABC):
    """What both protocols share: batches, one retry, checks, unit length.

    Tokens are counted with the bundled WordPiece tokenizer: exact for the BERT-like models that Ollama
    serves, an estimate for others.
    """

    def __init__(
        self, model: str, *, provider: Provider, url: str, key: str, options: EncoderOptions
    ) -> None:
        self.name = f"{provider}/{model}"
        self.fingerprint = ""  # only the server knows its files
        self.url = url
        self._model = model
        self._server = Server(provider, url, model, options.request_timeout_s)
        require_address(self._server)
        self._key = key
        self._connect_timeout_s = options.connect_timeout_s

    @cached_property
    def dimensions(self) -> int:
        """The length of each vector, asked once with a short text."""
        return int(self._embed(["dimensions"]).shape[1])

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text are read; the rest is cut off."""
        return OPENAI_MAX_TOKENS

    def count_tokens(self, text: str) -> int:
        """Tokens of a text by the bundled tokenizer."""
        return len(self._counter.encode(text, add_special_tokens=False).ids)

    def opening(self, text: str) -> str:
        """All of a section's text is embedded; the model cuts off what it does not read."""
        return text

    def encode_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question: shape (dimensions,), unit length."""
        return np.asarray(self._embed([text])[0])

    def encode_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Embed passages: shape (len(texts), dimensions), unit length; `on_progress` gets the number done."""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), BATCH_TEXTS):
            batch = texts[start : start + BATCH_TEXTS]
            vectors[start : start + len(batch)] = self._checked(self._embed(batch))
            if on_progress:
                on_progress(start + len(batch))
        return vectors

    @abstractmethod
    def _request(self, texts: Sequence[str]) -> list[list[float]]:
        """One call of the server: a vector a text, in order."""

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        limit = self.max_tokens * CHARACTERS_A_TOKEN
        # Servers refuse empty texts; a space is the nearest to nothing.
        prepared = [text[:limit] or " " for text in texts]
        return self._normalised(self._answer(prepared), count=len(texts))

    def _answer(self, texts: Sequence[str], *, retry: bool = True) -> list[list[float]]:
        """Ask, and once more where the failure may pass by itself."""
        try:
            return self._request(texts)
        except (httpx.HTTPError, httpx.InvalidURL, Misbehaviour) as error:
            if not (retry and worth_retrying(error)):
                raise translate(error, server=self._server, begun=False) from error
        time.sleep(RETRY_AFTER_S)
        return self._answer(texts, retry=False)

    def _post(self, path: str, body: dict[str, Any]) -> Json:
        return ask(self._server, path, key=self._key, body=body, connect_timeout_s=self._connect_timeout_s)

    def _normalised(self, rows: list[list[float]], *, count: int) -> NDArray[np.float32]:
        if len(rows) != count or len({len(row) for row in rows}) != 1:
            raise self._unusable(f"{len(rows)} vectors for {count} texts")
        try:
            vectors = np.asarray(rows, dtype=np.float32)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._unusable("vectors that are not made of numbers") from error
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or (lengths == 0).any():
            raise self._unusable("a vector without a direction (zeros or not numbers)")
        return np.asarray(vectors / lengths)

    def _checked(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        if vectors.shape[1] != self.dimensions:
            raise self._unusable(f"vectors of {vectors.shape[1]} dimensions after {self.dimensions}")
        return vectors

    def _unusable(self, what: str) -> ModelError:
        return ModelError(
            f"{self._server.place} gave {what}.",
            "Check that it is an embedding model, and ingest again.",
        )

    @cached_property
    def _counter(self) -> Any:
        return open_tokenizer(BUNDLED_FOLDER / "tokenizer.json", max_tokens=None)


class OllamaEncoder(RemoteEncoder):
    """An embedding model that Ollama serves (`POST /api/embed`)."""

    def __init__(self, model: str, *, options: EncoderOptions) -> None:
        super().__init__(model, provider="ollama", url=options.ollama_url, key="", options=options)

    @cached_property
    def max_tokens(self) -> int:
        """The model's context length as Ollama reports it, asked once."""
        try:
            info = self._post("/api/show", {"model": self._model}).get("model_info", {})
        except (httpx.HTTPError, httpx.InvalidURL, Misbehaviour) as error:
            raise translate(error, server=self._server, begun=False) from error
        known = info.items() if isinstance(info, dict) else ()
        lengths = [value for key, value in known if key.endswith(".context_length")]
        usable = lengths and isinstance(lengths[0], int) and 0 < lengths[0] < MOST_TOKENS
        return int(lengths[0]) if usable else OLLAMA_MAX_TOKENS

    def _request(self, texts: Sequence[str]) -> list[list[float]]:
        body = {"model": self._model, "input": list(texts), "truncate": True}
        answer = self._post("/api/embed", body)
        return _vectors(answer.get("embeddings") or [])


class OpenAIEncoder(RemoteEncoder):
    """An embedding model of OpenAI or of a compatible server (`POST /embeddings`)."""

    def __init__(self, model: str, *, options: EncoderOptions) -> None:
        super().__init__(
            model,
            provider="openai",
            url=options.openai_url,
            key=options.openai_api_key,
            options=options,
        )

    def _request(self, texts: Sequence[str]) -> list[list[float]]:
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        rows = self._post("/embeddings", body).get("data") or []
        if not isinstance(rows, list) or not all(
            isinstance(row, dict) and isinstance(row.get("index"), int) for row in rows
        ):
            raise Misbehaviour("something that is not a list of vectors")
        ordered = sorted(rows, key=lambda row: int(row["index"]))
        return _vectors([row.get("embedding") for row in ordered])


def _vectors(rows: object) -> list[list[float]]:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise Misbehaviour("something that is not a list of vectors")
    return rows
