"""Cross-encoders: the bundled one on ONNX Runtime, which reads a question and a passage together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipeline.models.base import CrossEncoder, ModelChoice, Scores
from pipeline.models.onnx import (
    BUNDLED_FOLDER,
    core_count,
    equal_length_batches,
    map_batches,
    open_session,
    open_tokenizer,
)

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

BUNDLED = "auto"
BUNDLED_NAME = "athena-cross-encoder"
BUNDLED_MODEL = BUNDLED_FOLDER.with_name(BUNDLED_NAME) / "model-int8.onnx"
PAIR_TOKENS = 96  # as it was trained
BATCH_TOKENS = 1024


class OnnxCrossEncoder:
    """The bundled cross-encoder, or another ONNX file that `training/` exported.

    Files are read at the first use; any thread may call it. A pair's logit does not depend on the other
    pairs. A pair of more than 96 tokens loses the end of its longer part, which is usually the passage.
    """

    def __init__(self, model: Path = BUNDLED_MODEL, *, threads: int = 0) -> None:
        self.name = BUNDLED_NAME
        self._model = model
        self._threads = threads or core_count()

    def score(self, question: str, passages: Sequence[str]) -> Scores:
        """Logits, shape (len(passages),), higher is better."""
        pairs = self._tokenizer.encode_batch_fast([(question, passage) for passage in passages])
        scores = np.empty(len(passages), dtype=np.float32)

        def logits(batch: list[int]) -> Scores:
            inputs = {
                "input_ids": np.array([pairs[index].ids for index in batch], dtype=np.int64),
                "token_type_ids": np.array([pairs[index].type_ids for index in batch], dtype=np.int64),
            }
            return np.asarray(self._session.run(None, inputs)[0], dtype=np.float32)[:, 0]

        batches = equal_length_batches([len(pair.ids) for pair in pairs], batch_tokens=BATCH_TOKENS)
        for batch, rows in map_batches(logits, batches, threads=self._threads):
            scores[batch] = rows
        return scores

    @cached_property
    def _session(self) -> InferenceSession:
        return open_session(self._model)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return open_tokenizer(BUNDLED_FOLDER / "tokenizer.json", max_tokens=PAIR_TOKENS)


def find_cross_encoder(name: str) -> tuple[CrossEncoder | None, ModelChoice]:
    """The cross-encoder of a name and why it was chosen; None where it is switched off or not installed."""
    if name in ("", "none"):
        return _none("switched off (ATHENA_CROSS_ENCODER is none)", "Name a model to rerank with.")
    if not BUNDLED_MODEL.is_file():
        return _none(
            f"The bundled cross-encoder '{BUNDLED_MODEL}' is missing; nothing is reranked.",
            "Install Athena again, or set ATHENA_CROSS_ENCODER=none.",
        )
    choice = ModelChoice("cross-encoder", BUNDLED_NAME, "bundled", "comes with Athena, no download")
    return OnnxCrossEncoder(), choice


def _none(detail: str, fix: str) -> tuple[None, ModelChoice]:
    return None, ModelChoice("cross-encoder", "", "none", detail, fix)
