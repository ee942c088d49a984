"""Embeddings by any sentence-transformers model: needs torch, which the extra `[hf]` installs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ModelError, ModelUnavailable
from pipeline.models.onnx import file_fingerprint

INSTALL = "Install it with: pip install 'athena-docs[hf]'"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
TEXTS_AT_ONCE = 512  # between two reports of progress
DEFAULT_MAX_TOKENS = 512  # where the model names no limit


class SentenceTransformerEncoder:
    """A sentence-transformers model by name or folder, with its own prompts for questions and passages."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._loading = threading.Lock()
        self._loaded: Any = None

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the weights, of a model in a folder; "" for a model by name."""
        files = (Path(self.name) / name for name in WEIGHTS)
        return next((file_fingerprint(file) for file in files if file.is_file()), "")

    @property
    def dimensions(self) -> int:
        """The length of each vector."""
        return len(self._probe)

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text are read; the rest is cut off."""
        return int(self._model.max_seq_length or DEFAULT_MAX_TOKENS)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, without the model's own special ones."""
        return len(self._model.tokenizer.tokenize(text))

    def opening(self, text: str) -> str:
        """All of a section's text is embedded; the model cuts off what it does not read."""
        return text

    def encode_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question with the model's query prompt: shape (dimensions,), unit length."""
        return self._checked(self._model.encode_query([text], **_ENCODING))[0]  # type: ignore[no-any-return]

    def encode_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Embed passages with the model's document prompt: shape (len(texts), dimensions), unit length."""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            batch = list(texts[start : start + TEXTS_AT_ONCE])
            vectors[start : start + len(batch)] = self._checked(
                self._model.encode_document(batch, **_ENCODING)
            )
            if on_progress:
                on_progress(start + len(batch))
        return vectors

    def _checked(self, vectors: Any) -> NDArray[np.float32]:
        """Vectors as they are stored; raises where the model gave no direction."""
        rows = np.asarray(vectors, dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or (lengths == 0).any():
            raise ModelError(
                f"'{self.name}' gave a vector without a direction.", "Choose another embedding model."
            )
        return np.asarray(rows / lengths)

    @cached_property
    def _probe(self) -> NDArray[np.float32]:
        return self.encode_query("dimensions")

    @property
    def _model(self) -> Any:
        with self._loading:
            if self._loaded is None:
                self._loaded = _load(self.name)
            return self._loaded


_ENCODING = {"normalize_embeddings": True, "convert_to_numpy": True, "show_progress_bar": False}


def _load(name: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ModelUnavailable(
            f"The embedding model '{name}' needs sentence-transformers, which is not installed.", INSTALL
        ) from error
    try:
        return SentenceTransformer(name)
    except (OSError, ValueError, RuntimeError) as error:  # not on disk, no network, or not such a model
        raise ModelUnavailable(
            f"Cannot load the embedding model '{name}': {str(error).strip().splitlines()[0]}",
            "Check the name and the network, or give a folder that holds the model.",
        ) from error
