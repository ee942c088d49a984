"""Which models: for embedding, reranking and answering; each is looked for at its first use."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from athena.loading import part
from athena.once import made_once
from athena.settings import Settings
from pipeline.models.base import CrossEncoder, Encoder, ModelChoice
from pipeline.options import EncoderOptions, LanguageModelOptions

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

LOCAL_EMBEDDINGS = ("bundled", "sentence-transformers")


class Models:
    """The models that the settings name; safe to use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self.lock = threading.RLock()
        self._settings = settings
        self._cross_encoder: tuple[CrossEncoder | None, ModelChoice] | None = None

    @made_once
    def encoder(self) -> tuple[Encoder, ModelChoice]:
        """The embedding model and why."""
        from pipeline.models.embedding import choose_encoder

        return choose_encoder(self._settings.embedding_model, options=part(self._settings, EncoderOptions))

    @property
    def embeds_here(self) -> bool:
        """True where this process computes the embeddings."""
        return self.encoder[1].provider in LOCAL_EMBEDDINGS

    def cross_encoder(self, *, fetch: bool = False) -> tuple[CrossEncoder | None, ModelChoice]:
        """The cross-encoder and why; only `fetch` downloads or converts one that is not on disk."""
        from pipeline.models.cross_encoder import fetch_cross_encoder, find_cross_encoder

        known = self._cross_encoder
        if known is None or (known[0] is None and fetch):
            # Not under the lock: a download takes minutes, and answers are written without it meanwhile.
            look = fetch_cross_encoder if fetch else find_cross_encoder
            known = look(self._settings.cross_encoder, model_cache=self._settings.model_cache)
            self._cross_encoder = known
        return known

    def language_model(self, name: str | None = None) -> tuple[LLM | None, ModelChoice]:
        """The language model of a name, by default the settings', and why; None where there is none."""
        from pipeline.models.llm import choose_language_model

        return choose_language_model(name or self._settings.llm, options=self._llm_options)

    def language_models(self) -> list[str]:
        """The names to pick from: `ollama/NAME`, `openai/NAME`, and `none` at the end."""
        from pipeline.models.llm import list_language_models

        return list_language_models(options=self._llm_options)

    @property
    def _llm_options(self) -> LanguageModelOptions:
        return part(self._settings, LanguageModelOptions)
