"""The models for embedding, reranking and answering; each is looked up at its first use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from athena.lazy import Lazy
from athena.loading import options_of
from athena.settings import Settings
from pipeline.errors import ModelError
from pipeline.models.base import CrossEncoder, Encoder, ModelChoice
from pipeline.options import LanguageModelOptions, ModelServerOptions
from pipeline.redaction import hide

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from pipeline.models.clients import LanguageModel

WORD = "Answer with the one word: ready"
WORD_TIMEOUT_S = 60.0  # a model may have to be loaded first
REMOTE = ("ollama/", "openai/")  # prefixes of the names of models on a server


@dataclass(frozen=True, slots=True)
class Given:
    """Models that a program passes in place of those that the settings name."""

    llm: str | LLM | None = None
    encoder: Encoder | None = None
    reranker: CrossEncoder | None = None


@dataclass(frozen=True, slots=True)
class Models:
    """The models that were given, or that the settings name, each with the reason for its choice."""

    settings: Settings
    given: Given
    encoder: Lazy[tuple[Encoder, ModelChoice]]
    cross_encoder: Lazy[tuple[CrossEncoder | None, ModelChoice]]

    def language_model(self, wanted: str | LLM | None = None) -> tuple[LanguageModel | None, ModelChoice]:
        """Return the language model to use, or None, and why; raises `ConfigurationError` for a bad name.

        `wanted` is a name or a model; default: the one given to `open_athena`, else `settings.llm`.
        """
        if wanted in (None, ""):
            wanted = self.settings.llm if self.given.llm is None else self.given.llm
        if isinstance(wanted, str):
            from pipeline.models.llm import choose_language_model

            return choose_language_model(wanted, options=options_of(self.settings, LanguageModelOptions))
        from pipeline.llamaindex.llms import language_model_of

        return language_model_of(wanted)

    def language_models(self) -> list[str]:
        """Return the models of the servers that answer (`ollama/NAME`, `openai/NAME`), then `none`."""
        from pipeline.models.llm import list_language_models

        return list_language_models(options=options_of(self.settings, LanguageModelOptions))


def build_models(settings: Settings, given: Given) -> Models:
    """Return the models for the settings; models in `given` replace those that the settings name."""
    hide(dict(settings))
    return Models(
        settings,
        given,
        Lazy(lambda: _encoder(settings, given)),
        Lazy(lambda: _cross_encoder(settings, given)),
    )


def try_connection(settings: Settings) -> str:
    """Ask the language model for one word; return a sentence with its name, or raise `AthenaError`.

    Listing the server's models would not show whether the API key is right.
    """
    from pipeline.models.generation import complete

    llm, choice = build_models(settings, Given()).language_model()
    if llm is None:
        raise ModelError(choice.detail, choice.fix)
    if not complete(llm, WORD, timeout_s=WORD_TIMEOUT_S).strip():
        raise ModelError(f"{choice.name} answered nothing.", "Choose another model.")
    return f"{choice.name} answers, {choice.detail}."


def is_remote(settings: Settings) -> bool:
    """Return whether a server computes the embeddings."""
    return settings.embedding_model.startswith(REMOTE)


def _encoder(settings: Settings, given: Given) -> tuple[Encoder, ModelChoice]:
    if given.encoder is not None:
        return given.encoder, ModelChoice("embedding", given.encoder.name, "given", "given by the program")
    from pipeline.models.embedding import choose_encoder

    return choose_encoder(settings.embedding_model, options=options_of(settings, ModelServerOptions))


def _cross_encoder(settings: Settings, given: Given) -> tuple[CrossEncoder | None, ModelChoice]:
    if given.reranker is not None:
        choice = ModelChoice("cross-encoder", given.reranker.name, "given", "given by the program")
        return given.reranker, choice
    from pipeline.models.cross_encoder import find_cross_encoder

    return find_cross_encoder(settings.cross_encoder)
