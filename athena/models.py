"""Which models: for embedding, reranking and answering; each is looked for at its first use."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from athena.loading import part
from athena.once import made_once
from athena.settings import Settings
from pipeline.models.base import CrossEncoder, Encoder, ModelChoice
from pipeline.options import EncoderOptions, LanguageModelOptions
from pipeline.redaction import hide

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM


LOCAL_EMBEDDINGS = ("bundled", "sentence-transformers")


@dataclass(frozen=True, slots=True)
class Given:
    """Models that a program passes in place of those that the settings name."""

    llm: str | LLM | None = None
    encoder: BaseEmbedding | Encoder | None = None
    reranker: CrossEncoder | None = None


class Models:
    """The models that were given, or that the settings name; safe to use from several threads."""

    def __init__(self, settings: Settings, given: Given | None = None) -> None:
        self.lock = threading.RLock()
        hide(dict(settings))
        self._settings = settings
        self._given = given or Given()
        self._cross_encoder: tuple[CrossEncoder | None, ModelChoice] | None = None

    def use(self, settings: Settings) -> None:
        """Go on with other settings: what they change is made again at its next use, and nothing else."""
        hide(dict(settings))
        with self.lock:
            before, self._settings = self._settings, settings
            same_server = part(before, EncoderOptions) == part(settings, EncoderOptions)
            if before.embedding_model != settings.embedding_model or not (same_server or self._encodes_here):
                self.__dict__.pop("encoder", None)
            if before.cross_encoder != settings.cross_encoder:
                self._cross_encoder = None

    @made_once
    def encoder(self) -> tuple[Encoder, ModelChoice]:
        """The embedding model and why."""
        if self._given.encoder is not None:
            from pipeline.models.given import encoder_of

            return encoder_of(self._given.encoder)
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
        """The cross-encoder and why it was chosen; None where there is none."""
        if self._given.reranker is not None:
            reranker = self._given.reranker
            return reranker, ModelChoice("cross-encoder", reranker.name, "given", "given by the program")
        from pipeline.models.cross_encoder import find_cross_encoder

        if self._cross_encoder is None:
            self._cross_encoder = find_cross_encoder(self._settings.cross_encoder)
        return self._cross_encoder

    def language_model(self, wanted: str | LLM | None = None) -> tuple[LLM | None, ModelChoice]:
        """The language model that is wanted, by its name or as it is, and why; None where there is none.

        By default the given one, else the settings'.
        """
        if wanted in (None, ""):
            wanted = self._settings.llm if self._given.llm is None else self._given.llm
        if isinstance(wanted, str):
            from pipeline.models.llm import choose_language_model

            return choose_language_model(wanted, options=self._llm_options)
        from pipeline.models.given import language_model_of

        return language_model_of(wanted)

    def language_models(self) -> list[str]:
        """The names to pick from: `ollama/NAME`, `openai/NAME`, and `none` at the end."""
        from pipeline.models.llm import list_language_models

        return list_language_models(options=self._llm_options)

    @property
    def _llm_options(self) -> LanguageModelOptions:
        return part(self._settings, LanguageModelOptions)
