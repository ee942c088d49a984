"""Models that a program passes in place of those that the settings name: LlamaIndex's, or an `Encoder`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pipeline.errors import ConfigurationError
from pipeline.models.base import Encoder, ModelChoice

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

GIVEN = "given by the program"


def language_model_of(llm: LLM) -> tuple[LLM, ModelChoice]:
    """Return any LlamaIndex `LLM` with its choice; raises `ConfigurationError` for another object."""
    from llama_index.core.llms import LLM

    if not isinstance(llm, LLM):
        raise ConfigurationError(f"`llm` is a '{type(llm).__name__}'.", "Give a LlamaIndex LLM, or a name.")
    name = llm.metadata.model_name
    name = type(llm).__name__ if name in ("", "unknown") else name
    return llm, ModelChoice("language model", name, "given", GIVEN)


def encoder_of(given: BaseEmbedding | Encoder) -> tuple[Encoder, ModelChoice]:
    """Return an embedding model as an `Encoder` with its choice; raises `ConfigurationError` for others."""
    if isinstance(given, Encoder) or hasattr(given, "opening"):
        encoder = cast("Encoder", given)
    elif hasattr(given, "get_text_embedding_batch"):
        encoder = LlamaIndexEncoder(given)
    else:
        problem = f"`encoder` is a '{type(given).__name__}'."
        raise ConfigurationError(problem, "Give a LlamaIndex BaseEmbedding, or a subclass of Encoder.")
    return encoder, ModelChoice("embedding", encoder.name, "given", GIVEN)


class LlamaIndexEncoder(Encoder):
    """Any embedding model of LlamaIndex as an `Encoder`."""

    def __init__(self, embedding: BaseEmbedding) -> None:
        super().__init__(f"{type(embedding).__name__}/{embedding.model_name}")
        self._embedding = embedding

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        prepared = [text or " " for text in texts]
        if is_query:
            return [self._embedding.get_query_embedding(text) for text in prepared]
        return self._embedding.get_text_embedding_batch(prepared)
