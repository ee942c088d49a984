"""Which models: for embedding, reranking and answering; each is looked for at its first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from athena.loading import part
from athena.once import made_once
from athena.settings import Settings
from pipeline.models.base import CrossEncoder, Encoder, ModelChoice, Pulling
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

    def use(self, settings: Settings) -> None:
        """Go on with other settings: what they change is made again at its next use, and nothing else."""
        with self.lock:
            before, self._settings = self._settings, settings
            same_server = part(before, EncoderOptions) == part(settings, EncoderOptions)
            if before.embedding_model != settings.embedding_model or not (same_server or self._encodes_here):
                self.__dict__.pop("encoder", None)
            if (before.cross_encoder, before.model_cache) != (settings.cross_encoder, settings.model_cache):
                self._cross_encoder = None

    @made_once
    def encoder(self) -> tuple[Encoder, ModelChoice]:
        """The embedding model and why."""
        from pipeline.models.embedding import choose_encoder

        return choose_encoder(self._settings.embedding_model, options=part(self._settings, EncoderOptions))

    @property
    def embeds_here(self) -> bool:
        """True where this process computes the embeddings."""
        return self.encoder[1].provider in LOCAL_EMBEDDINGS

    @property
    def _encodes_here(self) -> bool:
        """The same, without making an embedding model."""
        return "encoder" not in self.__dict__ or self.embeds_here

    def cross_encoder(self) -> tuple[CrossEncoder | None, ModelChoice]:
        """The cross-encoder and why; None where it is not on disk."""
        from pipeline.models.cross_encoder import find_cross_encoder

        if self._cross_encoder is None:
            settings = self._settings
            self._cross_encoder = find_cross_encoder(settings.cross_encoder, model_cache=settings.model_cache)
        return self._cross_encoder

    def fetch_cross_encoder(
        self, on_progress: Callable[[Pulling], None] | None = None
    ) -> tuple[CrossEncoder | None, ModelChoice]:
        """The same, downloaded or converted where it is not on disk, as somebody asked for it."""
        from pipeline.models.cross_encoder import fetch_cross_encoder

        # Not under the lock: a download takes minutes, and answers are written without it meanwhile.
        name, cache = self._settings.cross_encoder, self._settings.model_cache
        self._cross_encoder = fetch_cross_encoder(name, model_cache=cache, on_progress=on_progress)
        return self._cross_encoder

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
