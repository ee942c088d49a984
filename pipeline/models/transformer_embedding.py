"""Models by sentence-transformers: these need torch, which the extra `[hf]` installs."""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.errors import ModelUnavailable
from pipeline.models.base import Encoder
from pipeline.models.onnx import file_fingerprint

INSTALL = "Install it with: pip install 'athena-docs[hf]'"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
DEFAULT_MAX_TOKENS = 512  # where the model names no limit
_loading = threading.Lock()


class SentenceTransformerEncoder(Encoder):
    """An embedding model by name or folder, with its own prompts for questions and passages."""

    batch_texts = 512  # the library divides these by length

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the weights of a model in a folder; "" for a model by name."""
        files = (Path(self.name) / name for name in WEIGHTS)
        return next((file_fingerprint(file) for file in files if file.is_file()), "")

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text the model reads."""
        return int(self._model.max_seq_length or DEFAULT_MAX_TOKENS)

    def count_tokens(self, text: str) -> int:
        """Count a text's tokens with the model's own tokenizer, without special tokens."""
        return len(self._model.tokenizer.tokenize(text))

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        encode = self._model.encode_query if is_query else self._model.encode_document
        return encode(texts, convert_to_numpy=True, show_progress_bar=False)

    @cached_property
    def _model(self) -> Any:
        with _loading:  # large: two threads must not load it at once
            return self.__dict__.get("_model") or load_model("SentenceTransformer", self.name)


def load_model(kind: str, name: str) -> Any:
    """Load a sentence-transformers model of a class by name or folder; raises `ModelUnavailable`."""
    try:
        import sentence_transformers
    except ImportError as error:
        problem = f"The model '{name}' needs sentence-transformers, which is not installed."
        raise ModelUnavailable(problem, INSTALL) from error
    try:
        return getattr(sentence_transformers, kind)(name)
    except (OSError, ValueError, RuntimeError) as error:  # not on disk, no network, or not such a model
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelUnavailable(
            f"Cannot load the model '{name}': {reason}",
            "Check the name and the network, or give a folder that holds the model.",
        ) from error
