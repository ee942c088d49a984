"""Embeddings: the bundled int8 MiniLM on ONNX Runtime, and the choice of an encoder by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import ConfigurationError
from pipeline.models.base import Encoder, ModelChoice
from pipeline.models.onnx import (
    BUNDLED_FOLDER,
    BUNDLED_NAME,
    BUNDLED_SHA256,
    map_batches,
    open_session,
    open_tokenizer,
)
from pipeline.options import EncoderOptions
from pipeline.redaction import without_password

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

OPENING_TOKENS = 128  # of a section
LONGEST_USUAL_TOKEN = 16  # characters


class OnnxEncoder(Encoder):
    """The bundled model; a folder has another build of it, as `model-int8.onnx` and `tokenizer.json`.

    A vector is the mean over tokens. Files are read at the first use; any thread may call it.
    The same text gives the same vector, bit for bit, whatever is embedded beside it, in any order and on
    any number of threads: the model rounds every token by itself (`docs/decisions/vectors.md`).
    """

    fingerprint = BUNDLED_SHA256
    languages = frozenset({"en"})
    dimensions = 384
    max_tokens = 256

    def __init__(self, folder: Path = BUNDLED_FOLDER, *, threads: int = 0) -> None:
        super().__init__(BUNDLED_NAME)
        self._folder = folder
        self._threads = threads

    def opening(self, text: str) -> str:
        """Return as much of a section's beginning as the model was trained to read at once, 128 tokens.

        It can read `max_tokens`, but an ingest then takes an eighth longer and ranks no better.
        """
        if len(text) < OPENING_TOKENS:  # a token has at least one character
            return text
        beginning = text[: OPENING_TOKENS * LONGEST_USUAL_TOKEN]
        tokenizer = open_tokenizer(self._folder / "tokenizer.json", max_tokens=OPENING_TOKENS)
        return beginning[: tokenizer.encode(beginning).offsets[-2][1]]  # the last token is [SEP]

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:  # noqa: ARG002  (one model for both)
        return self._means(self._tokenize(texts))

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        ids = self._tokenize(texts)
        lengths = [len(row) for row in ids]
        return map_batches(lambda batch: self._means([ids[i] for i in batch]), lengths, threads=self._threads)

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, special tokens included, cut after `max_tokens`."""
        tokenizer = open_tokenizer(self._folder / "tokenizer.json", max_tokens=self.max_tokens)
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(list(texts))]

    def _means(self, ids: list[list[int]]) -> Any:
        """Compute the mean vectors of texts of one length in tokens, shape (len(ids), dimensions)."""
        import numpy as np

        output = self._session.run(["last_hidden_state"], {"input_ids": np.array(ids, dtype=np.int64)})[0]
        return np.asarray(output, dtype=np.float32).mean(axis=1)

    @cached_property
    def _session(self) -> InferenceSession:
        return open_session(self._folder / "model-int8.onnx")


def choose_encoder(name: str, *, options: EncoderOptions) -> tuple[Encoder, ModelChoice]:
    """Return the encoder of a name and why it was chosen; nothing is loaded or asked before its first use.

    `auto` and `all-MiniLM-L6-v2` are the bundled model; `ollama/NAME`, `openai/NAME`; all other names are
    sentence-transformers models or folders. Raises `ConfigurationError` and `ModelUnavailable`.
    """
    encoder: Encoder
    provider, _, model = name.partition("/")
    match provider:
        case "auto" | "all-MiniLM-L6-v2" if not model:
            encoder, provider = OnnxEncoder(threads=options.embedding_threads), "bundled"
            place = f"int8 ONNX, {encoder.dimensions} dimensions, {encoder.max_tokens} tokens, English"
        case "ollama":
            from pipeline.models.remote_embedding import OllamaEncoder

            encoder = OllamaEncoder(_embedding_model(model, name=name), options=options)
            place = f"by Ollama at {without_password(options.ollama_url)}"
        case "openai":
            from pipeline.models.remote_embedding import OpenAIEncoder

            encoder = OpenAIEncoder(_embedding_model(model, name=name), options=options)
            place = f"by {without_password(options.openai_url)}"
        case _:
            from pipeline.models.transformer_embedding import SentenceTransformerEncoder

            encoder = SentenceTransformerEncoder(_embedding_model(name, name=name))
            provider, place = "sentence-transformers", "on this machine"
    return encoder, ModelChoice("embedding", encoder.name, provider, place)


def _embedding_model(model: str, *, name: str) -> str:
    """Return the model's name; raises `ConfigurationError` where it names no model, or a reranker."""
    if model not in ("", "none") and "rerank" not in model.lower():
        return model
    problem = "is a reranker and embeds nothing" if "rerank" in model.lower() else "names no model"
    raise ConfigurationError(
        f"ATHENA_EMBEDDING_MODEL is '{name}', which {problem}.",
        "Use auto, a sentence-transformers name, ollama/NAME or openai/NAME.",
    )
