"""Embedding models: the bundled one, sentence-transformers models, and models on servers; chosen by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.errors import ConfigurationError, ModelUnavailable
from pipeline.models.base import MOST_TOKENS, USUAL_TOKENS, Encoder, ModelChoice, prefixes
from pipeline.models.failures import Server, translate
from pipeline.models.onnx import (
    BUNDLED_FOLDER,
    BUNDLED_NAME,
    BUNDLED_SHA256,
    map_batches,
    open_session,
    open_tokenizer,
)
from pipeline.options import ModelServerOptions
from pipeline.redaction import without_password

MOST_CHARACTERS = 2000  # of a text: at most 8,000 bytes, so below OpenAI's 8,191 tokens; Ollama cuts further
INSTALL = "Install it with: pip install 'athena-docs[hf]'"


class OnnxEncoder(Encoder):
    """The bundled model, or another build of it from a folder with `model-int8.onnx` and `tokenizer.json`.

    A vector is the mean over tokens. Files are read at the first use; any thread may call it.
    The same text gives the same vector, bit for bit, together with any other texts, in any order and on
    any number of threads: the model rounds each token separately (`docs/decisions/vectors.md`).
    """

    fingerprint = BUNDLED_SHA256
    languages = frozenset({"en"})
    dimensions = 384
    max_tokens = 256
    opening_tokens = 128  # as in training; with 256, ingesting takes an eighth longer and ranks no better

    def __init__(self, folder: Path = BUNDLED_FOLDER) -> None:
        super().__init__(BUNDLED_NAME)
        self._folder = folder

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:  # noqa: ARG002  (one model for both)
        ((_, rows),) = self._batches(texts)  # of one text
        return rows

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        import numpy as np

        tokenizer = open_tokenizer(self._folder, max_tokens=self.max_tokens)
        session = open_session(self._folder / "model-int8.onnx")
        ids = [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))]

        def means(batch: list[int]) -> Any:  # over the tokens, shape (len(batch), dimensions)
            inputs = {"input_ids": np.array([ids[index] for index in batch], dtype=np.int64)}
            return np.asarray(session.run(["last_hidden_state"], inputs)[0], dtype=np.float32).mean(axis=1)

        return map_batches(means, [len(row) for row in ids])


class SentenceTransformerEncoder(Encoder):
    """A sentence-transformers model by name or folder; downloaded and loaded at the first use.

    Questions and passages get the model's own prompts or, if it has none, its `prefixes`.
    """

    batch_texts = 512  # the library sorts these by length and divides them

    @cached_property
    def max_tokens(self) -> int:
        """The model's own limit, at most `MOST_TOKENS`."""
        return min(getattr(self._model, "max_seq_length", None) or USUAL_TOKENS, MOST_TOKENS)

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        encode = self._model.encode_query if is_query else self._model.encode_document
        return encode(texts, convert_to_numpy=True, show_progress_bar=False)

    @cached_property
    def _model(self) -> Any:
        model = load_model("SentenceTransformer", self.name)
        if not any(model.prompts.values()):  # e5 and others are published without prompts
            model.prompts = dict(zip(("query", "document"), prefixes(self.name), strict=True))
        return model


class RemoteEncoder(Encoder):
    """An embedding model on a server. Its fingerprint is its prefix of passages, which changes the vectors.

    Nothing is sent before its first use. Raises `ModelUnavailable` if OpenAI's key or package is missing.
    """

    def __init__(self, provider: str, model: str, *, options: ModelServerOptions) -> None:
        self.server = Server.of(provider, model, options)
        super().__init__(self.server.name)
        self._query_prefix, self.fingerprint = prefixes(model)
        self._key = options.openai_api_key or "none"  # the client requires a key

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

    @cached_property
    def _failures(self) -> tuple[type[Exception], ...]:
        """The exceptions of the clients, and those raised for an answer of an unexpected form."""
        import httpx
        import ollama

        client: type[Exception] = ollama.ResponseError
        if self.server.provider == "openai":
            import openai

            client = openai.OpenAIError
        shape = (ValueError, TypeError, AttributeError, OverflowError, RecursionError)
        return (client, httpx.HTTPError, httpx.InvalidURL, ConnectionError, *shape)

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        prefix, model = self._query_prefix if is_query else self.fingerprint, self.server.model
        cut = [(prefix + text)[:MOST_CHARACTERS] or " " for text in texts]  # servers refuse empty texts
        try:
            if self.server.provider == "ollama":
                return self._client.embed(model, cut, truncate=True).embeddings
            rows = self._client.embeddings.create(model=model, input=cut, encoding_format="float").data
            return [row.embedding for row in sorted(rows, key=lambda row: row.index)]
        except self._failures as error:
            raise translate(error, server=self.server, begun=False) from error


def load_model(kind: str, name: str) -> Any:
    """Load a model by name or folder; `kind` is a sentence-transformers class. Raises `ModelUnavailable`."""
    fix = "Check the name and the network, or name a folder that has the model."
    try:
        import sentence_transformers

        return getattr(sentence_transformers, kind)(name)
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        fix = INSTALL if isinstance(error, ImportError) else fix
        raise ModelUnavailable(f"Cannot load the model '{name}': {reason}.", fix) from error


def choose_encoder(name: str, *, options: ModelServerOptions) -> tuple[Encoder, ModelChoice]:
    """Return the encoder with this name and why it was chosen; it loads and sends nothing before first use.

    `auto` and `all-MiniLM-L6-v2` are the bundled model; `ollama/NAME` and `openai/NAME` are on servers; all
    others are sentence-transformers models or folders. Raises `ConfigurationError`, `ModelUnavailable`.
    """
    encoder: Encoder
    provider, _, model = name.partition("/")
    if name in ("auto", BUNDLED_NAME):
        encoder, provider = OnnxEncoder(), "bundled"
        place = f"int8 ONNX, {encoder.dimensions} dimensions, {encoder.max_tokens} tokens, English"
    elif name.strip("/") in ("", "none", "ollama", "openai"):
        fix = "Use auto, a sentence-transformers name, ollama/NAME or openai/NAME."
        raise ConfigurationError(f"ATHENA_EMBEDDING_MODEL is '{name}', which names no model.", fix)
    elif provider in ("ollama", "openai"):
        encoder = remote = RemoteEncoder(provider, model, options=options)
        place = f"at {without_password(remote.server.url)}"
    else:
        encoder, provider = SentenceTransformerEncoder(name), "sentence-transformers"
        place = "on this machine"
    return encoder, ModelChoice("embedding", encoder.name, provider, place)
