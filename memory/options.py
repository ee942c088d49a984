"""Every option of the memory, with its default and one line on what it does; settings of the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from pipeline.options import Options, Share

Recalls = Literal["all", "asked"]
PresetName = Literal["none", "short_term", "agent", "inject", "generative", "graph"]

THRESHOLDS: Mapping[str, float] = {"all-MiniLM-L6-v2": 0.38}
"""The least cosine of a memory and a message that belong together, by embedding model: no injection into the
unrelated messages of `evals/data/memory/injections.json` (`athena eval injections`)."""

OTHER_THRESHOLD = 0.8
"""Of a model that was not calibrated: few are injected rather than wrong ones."""


class MemoryOptions(Options):
    """What is remembered, and how it is recalled."""

    memory: PresetName = Field(
        "inject", description="what is remembered: none, short_term, agent, inject, generative or graph"
    )
    memory_recall: Recalls = Field(
        "all", description="what is recalled: all that was said, or asked: only what was kept as a fact"
    )
    memory_documents: str = Field(
        "", description="documents whose names and relations the graph preset reads: globs with commas"
    )
    memory_tokens: PositiveInt = Field(500, description="token budget of the memories in the prompt")
    memory_recency_weight: NonNegativeFloat = Field(
        0.25, description="weight of how lately a memory was used"
    )
    memory_importance_weight: NonNegativeFloat = Field(0.25, description="weight of a memory's importance")
    memory_relevance_weight: NonNegativeFloat = Field(
        1.0, description="weight of how much a memory is about the message"
    )
    memory_threshold: Share | None = Field(
        None, description="relevance below which nothing is recalled; default: that of the embedding model"
    )

    def threshold_for(self, embedding_model: str) -> float:
        """The least relevance of what is recalled."""
        if self.memory_threshold is not None:
            return self.memory_threshold
        return THRESHOLDS.get(embedding_model, OTHER_THRESHOLD)
