"""An encoder where LlamaIndex wants an embedding model."""

from __future__ import annotations

import asyncio

import numpy as np

from pipeline.llamaindex.embedding import AthenaEmbedding
from tests.fakes import FakeEncoder


def test_gives_the_encoders_vectors() -> None:
    encoder = FakeEncoder()
    embedding = AthenaEmbedding(encoder)
    assert embedding.model_name == encoder.name
    np.testing.assert_allclose(embedding.get_query_embedding("a valve"), encoder.encode_query("a valve"))
    np.testing.assert_allclose(embedding.get_text_embedding("a valve"), encoder.encode_query("a valve"))


def test_texts_go_to_the_encoder_in_one_call() -> None:
    encoder = FakeEncoder()
    vectors = AthenaEmbedding(encoder).get_text_embedding_batch([f"text {number}" for number in range(300)])
    assert len(vectors) == 300
    assert len(encoder.calls) == 1


def test_async_queries() -> None:
    encoder = FakeEncoder()
    vector = asyncio.run(AthenaEmbedding(encoder).aget_query_embedding("a valve"))
    np.testing.assert_allclose(vector, encoder.encode_query("a valve"))
