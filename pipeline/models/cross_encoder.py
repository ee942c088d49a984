"""Cross-encoders, which score a question and a passage together: the bundled one, or another by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from pipeline.errors import ModelError
from pipeline.models.base import CrossEncoder, ModelChoice, Scores
from pipeline.models.embedding import INSTALL, load_model
from pipeline.models.onnx import BUNDLED_FOLDER, map_batches, open_session, open_tokenizer

BUNDLED = "auto"
BUNDLED_NAME = "athena-cross-encoder"
BUNDLED_MODEL = BUNDLED_FOLDER.with_name(BUNDLED_NAME) / "model-int8.onnx"
PAIR_TOKENS = 96  # as in training
BATCH_TOKENS = 256  # two or three pairs, so that two cores share the five pairs of a question


class OnnxCrossEncoder:
    """The bundled cross-encoder, or another ONNX file that `training/` exported.

    Files are read at the first use; any thread may call it. A pair's logit does not depend on the other
    pairs. If a pair has more than 96 tokens, the longer text, usually the passage, is cut at its end.
    """

    name = BUNDLED_NAME

    def __init__(self, model: Path = BUNDLED_MODEL) -> None:
        self._model = model

    def score(self, question: str, passages: Sequence[str]) -> Scores:
        """Return logits, shape (len(passages),), higher is better; raise `ModelUnavailable` without files."""
        tokenizer = open_tokenizer(max_tokens=PAIR_TOKENS)
        session = open_session(self._model)
        pairs = tokenizer.encode_batch_fast([(question, passage) for passage in passages])
        scores = np.empty(len(passages), dtype=np.float32)

        def logits(batch: list[int]) -> Scores:
            inputs = {
                "input_ids": np.array([pairs[index].ids for index in batch], dtype=np.int64),
                "token_type_ids": np.array([pairs[index].type_ids for index in batch], dtype=np.int64),
            }
            return np.asarray(session.run(None, inputs)[0], dtype=np.float32)[:, 0]

        lengths = [len(pair.ids) for pair in pairs]
        for batch, rows in map_batches(logits, lengths, batch_tokens=BATCH_TOKENS):
            scores[batch] = rows
        return scores


class TransformersCrossEncoder:
    """A sentence-transformers cross-encoder by name or folder; downloaded and loaded at the first use."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._model = cache(lambda: load_model("CrossEncoder", name))

    def score(self, question: str, passages: Sequence[str]) -> Scores:
        """Return logits, shape (len(passages),); raise `ModelError` if the model gives another shape."""
        pairs = [(question, passage) for passage in passages]
        # Without this identity function, a model may apply its own sigmoid.
        scores = self._model().predict(pairs, activation_fn=lambda logits: logits, show_progress_bar=False)
        if np.shape(scores) != (len(passages),):
            problem = f"The cross-encoder '{self.name}' does not return one score for each passage."
            raise ModelError(problem, "Choose a reranking model in ATHENA_CROSS_ENCODER.")
        return np.asarray(scores, dtype=np.float32)


def find_cross_encoder(name: str) -> tuple[CrossEncoder | None, ModelChoice]:
    """Return the cross-encoder with this name, None if it is off or missing, and the reason."""
    if name in ("", "none"):
        return _none("switched off (ATHENA_CROSS_ENCODER is none)", "Name a model to rerank with.")
    if name == BUNDLED and not BUNDLED_MODEL.is_file():
        return _none(f"The bundled cross-encoder '{BUNDLED_MODEL}' is missing.", "Install Athena again.")
    if name == BUNDLED:
        choice = ModelChoice("cross-encoder", BUNDLED_NAME, "bundled", "comes with Athena, no download")
        return OnnxCrossEncoder(), choice
    if find_spec("sentence_transformers") is None:
        return _none(f"'{name}' needs sentence-transformers, which is not installed.", INSTALL)
    choice = ModelChoice("cross-encoder", name, "sentence-transformers", "on this machine")
    return TransformersCrossEncoder(name), choice


def _none(detail: str, fix: str) -> tuple[None, ModelChoice]:
    return None, ModelChoice("cross-encoder", "", "none", detail, fix)
