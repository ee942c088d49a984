"""How a search is put together from the settings, a store and the models."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from athena.loading import part
from athena.settings import Settings
from pipeline.models.base import CrossEncoder, Encoder
from pipeline.options import RetrievalOptions
from pipeline.stores.base import DocumentStore

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from pipeline.finding.hyde import Hypothesize
    from pipeline.retrieve import HybridSearch

NO_BUDGET = 10**9
"""Tokens: where passages are counted, not measured."""


def retrieval_options(settings: Settings) -> RetrievalOptions:
    """The options of a search; `hyde` stands for "if a model is connected" unless it is off."""
    return part(settings, RetrievalOptions, hyde=settings.hyde != "off")


def make_search(
    settings: Settings,
    *,
    store: DocumentStore,
    encoder: Encoder,
    cross_encoder: CrossEncoder | None,
    llm: LLM | None,
) -> HybridSearch:
    """A search over a store; `llm` writes its hypotheses."""
    from pipeline.finding.verdict import calibrated
    from pipeline.models.tokens import count_tokens
    from pipeline.retrieve import HybridSearch

    return HybridSearch(
        store=store,
        encoder=encoder,
        count_tokens=count_tokens,
        options=retrieval_options(settings),
        calibration=calibrated(encoder.name, threshold=settings.answerable_threshold),
        cross_encoder=cross_encoder,
        hypothesize=_hypothesizer(settings, llm),
    )


def _hypothesizer(settings: Settings, llm: LLM | None) -> Hypothesize | None:
    if llm is None or settings.hyde == "off":
        return None
    from pipeline.answering.prompts import hypothesis_prompt
    from pipeline.models.generation import complete

    def write(question: str, stop: threading.Event) -> str:
        return complete(llm, hypothesis_prompt(question), timeout_s=settings.hyde_timeout_s, stop=stop)

    return write
