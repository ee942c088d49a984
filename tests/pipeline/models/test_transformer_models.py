"""Models by sentence-transformers, over a stand-in for the package: torch is not installed here."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from functools import partialmethod
from importlib.machinery import ModuleSpec

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.errors import ModelUnavailable
from pipeline.models.base import CrossEncoder
from pipeline.models.cross_encoder import find_cross_encoder
from pipeline.models.embedding import SentenceTransformerEncoder, choose_encoder
from pipeline.options import ModelServerOptions


class FakeTransformer:
    """An embedding model and a cross-encoder; records the texts that it reads."""

    def __init__(self, *, labels: int = 1) -> None:
        self.labels = labels
        self.prompts = {"query": "", "document": ""}
        self.max_seq_length: int | None = None
        self.calls: list[tuple[str, list[str]]] = []

    def encode_document(
        self, texts: list[str], *, kind: str = "document", **_: object
    ) -> NDArray[np.float32]:
        self.calls.append((kind, texts))
        return np.array([[3, 4]] * len(texts), dtype=np.float32)

    encode_query = partialmethod(encode_document, kind="query")

    def predict(
        self, pairs: list[tuple[str, str]], activation_fn: Callable[[object], object], **_: object
    ) -> NDArray[np.int64]:
        """The length of each passage as its logit."""
        logits = np.array([[len(passage)] * self.labels for _, passage in pairs]).reshape(-1, self.labels)
        assert activation_fn(logits) is logits
        return logits[:, 0] if self.labels == 1 else logits


def install(monkeypatch: pytest.MonkeyPatch, model: FakeTransformer | Exception) -> None:
    """Let the package load this model, or fail with this error, whatever is asked for."""

    def load(name: str) -> FakeTransformer:
        if isinstance(model, Exception):
            raise model
        return model

    package = types.ModuleType("sentence_transformers")
    package.__spec__ = ModuleSpec("sentence_transformers", None)
    package.SentenceTransformer = package.CrossEncoder = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)


def named_cross_encoder() -> CrossEncoder:
    encoder, choice = find_cross_encoder("some/reranker")
    assert (choice.name, choice.provider) == ("some/reranker", "sentence-transformers")
    assert encoder is not None
    return encoder


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    encoder, choice = choose_encoder("BAAI/bge-small-en-v1.5", options=ModelServerOptions())
    assert choice.provider == "sentence-transformers"
    with pytest.raises(ModelUnavailable, match=r"'BAAI/bge-.*'athena-docs\[hf\]'"):
        encoder.encode_query("x")
    none, choice = find_cross_encoder("some/reranker")
    assert (none, choice.provider) == (None, "none")
    assert "'some/reranker' needs sentence-transformers" in choice.detail
    assert "athena-docs[hf]" in choice.fix


def test_questions_and_passages_get_their_own_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeTransformer()
    install(monkeypatch, model)
    encoder = SentenceTransformerEncoder("some/model")
    np.testing.assert_allclose(encoder.encode_passages(["a b", "c"]), [[0.6, 0.8]] * 2, rtol=1e-6)
    assert model.calls == [("query", ["dimensions"]), ("document", ["a b", "c"])]
    assert (encoder.dimensions, encoder.languages) == (2, None)


def test_a_model_without_prompts_gets_its_prefixes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeTransformer()
    install(monkeypatch, model)
    SentenceTransformerEncoder("intfloat/e5-small-v2").encode_query("x")
    assert model.prompts == {"query": "query: ", "document": "passage: "}
    model.prompts = {"query": "q: ", "document": ""}
    SentenceTransformerEncoder("intfloat/e5-small-v2").encode_query("x")
    assert model.prompts["query"] == "q: "


def test_a_model_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, OSError("no such model\nlong advice"))
    with pytest.raises(ModelUnavailable, match=r"'some/model': no such model"):
        SentenceTransformerEncoder("some/model").encode_query("x")
    with pytest.raises(ModelUnavailable, match=r"'some/reranker': no such model"):
        named_cross_encoder().score("question", ["passage"])


def test_a_named_cross_encoder_gives_its_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, FakeTransformer())
    scores = named_cross_encoder().score("question", ["four", "fiver"])
    assert (scores.tolist(), scores.dtype) == ([4.0, 5.0], np.float32)
    assert named_cross_encoder().score("question", []).shape == (0,)
