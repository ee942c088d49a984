"""Embeddings: the bundled int8 MiniLM on ONNX Runtime, and the choice of an encoder by name.

No part of this module imports LlamaIndex or torch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import ConfigurationError, ModelUnavailable
from pipeline.models.base import Encoder, ModelChoice
from pipeline.models.onnx import (
    BATCH_TOKENS,
    BUNDLED_FOLDER,
    BUNDLED_NAME,
    TokenIds,
    core_count,
    equal_length_batches,
    file_fingerprint,
    map_batches,
    open_session,
    open_tokenizer,
    tokenize,
)
from pipeline.options import EncoderOptions
from pipeline.redaction import without_password

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


LONGEST_USUAL_TOKEN = 16  # characters
KEPT_QUERIES = 64  # one question is asked of the memory, of the index and of the sentences to quote


class OnnxEncoder:
    """A sentence-embedding model in a folder with `model-int8.onnx` and `tokenizer.json`.

    Mean over tokens, then unit length. Files are read at the first use; it may be called from any thread.
    The same text gives the same vector, bit for bit, whatever is embedded beside it, in whatever order and on
    however many threads: the model rounds every token by itself (`docs/decisions/vectors.md`).
    """

    def __init__(
        self,
        folder: Path = BUNDLED_FOLDER,
        *,
        name: str = BUNDLED_NAME,
        dimensions: int = 384,
        max_tokens: int = 256,
        opening_tokens: int = 128,
        threads: int = 0,
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self.max_tokens = max_tokens
        self._opening_tokens = opening_tokens
        self._folder = folder
        self._threads = threads or core_count()
        self._loading = threading.Lock()
        self._query_vector = lru_cache(KEPT_QUERIES)(self._query)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the model file."""
        return file_fingerprint(self._folder / "model-int8.onnx")

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, without the model's own special ones."""
        return len(self._counter.encode(text, add_special_tokens=False).ids)

    def opening(self, text: str) -> str:
        """As much of a section's beginning as the model was trained to read at once (MiniLM: 128 tokens).

        It can read `max_tokens`, but an ingest then takes an eighth longer and ranks no better.
        """
        limit = self._opening_tokens
        if len(text) < limit:  # a token has a character at least
            return text
        beginning = text[: limit * LONGEST_USUAL_TOKEN]
        return beginning[: self._opener.encode(beginning).offsets[-2][1]]  # the last one is [SEP]

    def encode_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question: shape (dimensions,), unit length. The last ones are kept."""
        return self._query_vector(text)

    def _query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._embed_batch(tokenize(self._tokenizer, [text]))[0]
        vector.flags.writeable = False  # whoever asks for the same text gets the same vector
        return vector

    def encode_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Embed passages: shape (len(texts), dimensions), unit length; `on_progress` gets the number done."""
        import numpy as np

        ids = tokenize(self._tokenizer, texts)
        batches = equal_length_batches([len(row) for row in ids])
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)

        def embed(batch: list[int]) -> NDArray[np.float32]:
            return self._embed_batch([ids[index] for index in batch])

        done = 0
        is_little = sum(map(len, ids)) <= BATCH_TOKENS  # not worth a thread
        for batch, rows in map_batches(embed, batches, threads=1 if is_little else self._threads):
            vectors[batch] = rows
            done += len(batch)
            if on_progress:
                on_progress(done)
        return vectors

    def _embed_batch(self, rows: list[TokenIds]) -> NDArray[np.float32]:
        """Vectors of texts of one length."""
        import numpy as np

        output = self._session.run(["last_hidden_state"], {"input_ids": np.stack(rows)})[0]
        hidden = np.asarray(output, dtype=np.float32)
        means = hidden.mean(axis=1)
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True))

    @cached_property
    def _session(self) -> InferenceSession:
        with self._loading:
            return self.__dict__.get("_session") or open_session(self._folder / "model-int8.onnx")

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return open_tokenizer(self._folder / "tokenizer.json", max_tokens=self.max_tokens)

    @cached_property
    def _opener(self) -> Tokenizer:
        return open_tokenizer(self._folder / "tokenizer.json", max_tokens=self._opening_tokens)

    @cached_property
    def _counter(self) -> Tokenizer:
        return open_tokenizer(self._folder / "tokenizer.json", max_tokens=None)


def choose_encoder(name: str, *, options: EncoderOptions) -> tuple[Encoder, ModelChoice]:
    """The encoder of a name and what to say about it; nothing is loaded or asked before its first use.

    `auto` and `all-MiniLM-L6-v2` are the bundled model; `ollama/NAME`, `openai/NAME`; all other names are
    sentence-transformers models or folders. Raises `ConfigurationError` and `ModelUnavailable`.
    """
    if name in ("auto", BUNDLED_NAME):
        return _bundled(options)
    if name in ("", "none"):
        raise ConfigurationError(
            f"ATHENA_EMBEDDING_MODEL is '{name}', which names no model.",
            "Use auto, a sentence-transformers name, ollama/NAME or openai/NAME.",
        )
    provider, _, model = name.partition("/")
    match provider:
        case "ollama":
            return _ollama(_required(model, name), options)
        case "openai":
            return _openai(_required(model, name), options)
        case _:
            return _sentence_transformer(name)


def _required(model: str, name: str) -> str:
    if not model:
        raise ConfigurationError(
            f"ATHENA_EMBEDDING_MODEL is '{name}', without a model's name.",
            f"Write it as {name.rstrip('/')}/NAME.",
        )
    return model


def _bundled(options: EncoderOptions) -> tuple[Encoder, ModelChoice]:
    encoder = OnnxEncoder(threads=options.embedding_threads)
    detail = f"bundled int8 ONNX, {encoder.dimensions} dimensions, {encoder.max_tokens} tokens"
    return encoder, ModelChoice("embedding", encoder.name, "bundled", detail)


def _ollama(model: str, options: EncoderOptions) -> tuple[Encoder, ModelChoice]:
    from pipeline.models.remote_embedding import OllamaEncoder

    encoder = OllamaEncoder(model, options=options)
    place = f"by Ollama at {without_password(options.ollama_url)}"
    return encoder, ModelChoice("embedding", encoder.name, "ollama", place)


def _openai(model: str, options: EncoderOptions) -> tuple[Encoder, ModelChoice]:
    from pipeline.models.remote_embedding import OpenAIEncoder

    if not options.openai_api_key and not options.openai_base_url:
        raise ModelUnavailable(
            f"The embedding model 'openai/{model}' needs a key.",
            "Set ATHENA_OPENAI_API_KEY, or ATHENA_OPENAI_BASE_URL for a compatible server.",
        )
    encoder = OpenAIEncoder(model, options=options)
    return encoder, ModelChoice("embedding", encoder.name, "openai", f"by {without_password(encoder.url)}")


def _sentence_transformer(name: str) -> tuple[Encoder, ModelChoice]:
    from pipeline.models.transformer_embedding import SentenceTransformerEncoder

    encoder = SentenceTransformerEncoder(name)
    return encoder, ModelChoice("embedding", name, "sentence-transformers", "by sentence-transformers")
