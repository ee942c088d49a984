"""Cross-encoders on ONNX Runtime: the bundled one, or any sentence-transformers `CrossEncoder`.

The files come from `cross_encoder_files.py`; torch is needed at most once, to convert a model that nobody
published as ONNX.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import ModelError, ModelUnavailable
from pipeline.models.base import CrossEncoder, ModelChoice, Pulling, Scores
from pipeline.models.cross_encoder_files import (
    BUNDLED,
    BUNDLED_NAME,
    ModelFiles,
    fetch_files,
    find_files,
)
from pipeline.models.onnx import core_count, equal_length_batches, map_batches, model_inputs, open_session

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

BATCH_TOKENS = 1024


class OnnxCrossEncoder:
    """Scores (question, passage) pairs; files are read at the first use, any thread may call it.

    A pair that is too long loses the end of its longer part, which is the passage as a rule.
    """

    def __init__(self, files: ModelFiles, *, name: str, threads: int = 0) -> None:
        self.name = name
        self._files = files
        self._threads = threads or core_count()
        self._loading = threading.Lock()

    def score(self, question: str, passages: Sequence[str]) -> Scores:
        """Logits, shape (len(passages),), higher is better."""
        if not passages:
            return np.empty(0, dtype=np.float32)
        pairs = self._tokenizer.encode_batch_fast([(question, passage) for passage in passages])
        batches = equal_length_batches([len(pair.ids) for pair in pairs], batch_tokens=BATCH_TOKENS)
        scores = np.empty(len(passages), dtype=np.float32)
        for batch, logits in map_batches(
            lambda batch: self._logits([pairs[index] for index in batch]), batches, threads=self._threads
        ):
            scores[batch] = logits
        return scores

    def _logits(self, pairs: list[Encoding]) -> NDArray[np.float32]:
        """Logits of pairs of one length."""
        ids = np.array([pair.ids for pair in pairs], dtype=np.int64)
        types = np.array([pair.type_ids for pair in pairs], dtype=np.int64)
        logits = np.asarray(self._session.run(None, model_inputs(self._session, ids, types=types))[0])
        if logits.shape != (len(pairs), 1):
            raise ModelError(
                f"The cross-encoder '{self.name}' gives {logits.shape[-1]} numbers a pair, not one score.",
                "Choose a reranking model in ATHENA_CROSS_ENCODER.",
            )
        return logits[:, 0].astype(np.float32)

    @cached_property
    def _session(self) -> InferenceSession:
        with self._loading:
            return self.__dict__.get("_session") or open_session(self._files.model)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        self._files.check()  # of both, before either is opened: each score begins here
        return self._files.open_tokenizer()


Choice = tuple[CrossEncoder | None, ModelChoice]


def find_cross_encoder(name: str, *, model_cache: Path | None = None, threads: int = 0) -> Choice:
    """The cross-encoder of a name or folder and why; None where it is not on disk, which is no error."""
    return _opened(name, find_files, model_cache=model_cache, threads=threads)


def fetch_cross_encoder(
    name: str,
    *,
    model_cache: Path | None = None,
    threads: int = 0,
    on_progress: Callable[[Pulling], None] | None = None,
) -> Choice:
    """The same, from the Hugging Face hub or converted by torch where it is not on disk; takes minutes."""
    fetch = partial(fetch_files, on_progress=on_progress)
    return _opened(name, fetch, model_cache=model_cache, threads=threads)


def _opened(name: str, look: Callable[..., ModelFiles], *, model_cache: Path | None, threads: int) -> Choice:
    if name in ("", "none"):
        return _none("switched off (ATHENA_CROSS_ENCODER is none)", "Name a model to rerank with.")
    try:
        files = look(name, model_cache=model_cache)
    except ModelUnavailable as error:
        return _none(error.problem, error.fix)
    provider = "bundled" if name == BUNDLED else "sentence-transformers"
    name = BUNDLED_NAME if name == BUNDLED else name
    choice = ModelChoice("cross-encoder", name, provider, files.detail)
    return OnnxCrossEncoder(files, name=name, threads=threads), choice


def _none(detail: str, fix: str) -> tuple[None, ModelChoice]:
    return None, ModelChoice("cross-encoder", "", "none", detail, fix)
