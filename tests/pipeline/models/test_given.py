"""Models that a program passes."""

from __future__ import annotations

import numpy as np
import pytest
from llama_index.core.embeddings import MockEmbedding

from pipeline.errors import ConfigurationError
from pipeline.llamaindex.llms import llama_index_llm
from pipeline.models.embedding import encoder_of
from pipeline.models.generation import complete
from pipeline.models.llm import language_model_of
from tests.fake_llm import FakeLLM
from tests.fakes import FakeEncoder


def test_any_model_of_llamaindex_answers_and_embeds() -> None:
    llm = FakeLLM(["B7."])
    model, chosen = language_model_of(llm)
    assert complete(model, "Which?", timeout_s=20) == "B7."
    assert (chosen.name, chosen.provider, llama_index_llm(model)) == ("fake-llm", "given", llm)
    encoder, choice = encoder_of(MockEmbedding(embed_dim=4))
    assert choice.name.startswith("MockEmbedding/")
    np.testing.assert_allclose(encoder.encode_passages(["a", ""]), np.full((2, 4), 0.5))
    np.testing.assert_allclose(encoder.encode_query("a"), np.full(4, 0.5))


def test_an_encoder_is_taken_as_it_is() -> None:
    encoder = FakeEncoder()
    assert encoder_of(encoder)[0] is encoder


def test_other_objects_are_refused() -> None:
    for make in (language_model_of, encoder_of):
        with pytest.raises(ConfigurationError, match="'object'"):
            make(object())  # type: ignore[operator]
