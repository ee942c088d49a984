"""An encoder as LlamaIndex's `BaseEmbedding`; apart from the encoders, for LlamaIndex takes 3 s to import."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from pipeline.models.base import Encoder


class AthenaEmbedding(BaseEmbedding):
    """Any of our encoders where LlamaIndex wants an embedding model."""

    _encoder: Encoder = PrivateAttr()

    def __init__(self, encoder: Encoder, **kwargs: Any) -> None:
        kwargs.setdefault("embed_batch_size", 2048)  # the encoder divides into batches itself
        super().__init__(model_name=encoder.name, **kwargs)
        self._encoder = encoder

    @classmethod
    def class_name(cls) -> str:
        """The name that LlamaIndex serialises."""
        return "AthenaEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._encoder.encode_query(query).tolist()  # type: ignore[no-any-return]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._encoder.encode_passages(texts).tolist()  # type: ignore[no-any-return]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)
