"""Every option of the memory; and the presets: what each keeps of a turn and how it reads.

All presets write and read the same tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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


FOUND = "All that was said is found again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One set of policies."""

    name: PresetName
    says: str  # to a user who chooses
    history: bool = True  # the conversation goes into the prompt
    recalls: bool = True  # and takes requests: "remember that …", "forget …"
    most: int = 5  # memories recalled
    least_importance: float = 0.0  # of what is recalled
    least_score: float = 0.0  # of what is recalled: recency, importance and relevance, weighed and added
    exchange: bool = False  # slipped into the history as a short exchange; none for messages about tools
    statements: bool = False  # what a user states is kept unasked
    tier: Literal["short_term", "long_term"] = (
        "long_term"  # of what is kept unasked; short-term is read first
    )
    questions: bool = False  # questions are kept with their answers
    entities: int = 0  # recalled
    depth: int = 0  # of the neighbourhood that is read; with one, names and relations of all turns are kept
    documents: bool = False  # the graph is also of the documents that are named for it

    @property
    def unasked(self) -> bool:
        """Whether something may be kept of any message, asked for or not."""
        return self.statements or self.questions or self.depth > 0


PRESETS: Mapping[PresetName, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="none",
            says="Every message stands alone: no fact is kept, and nothing that was said is found again.",
            history=False,
            recalls=False,
        ),
        Preset(
            name="short_term",
            says="The conversation is remembered while it goes on, and nothing after it: no fact is kept.",
            recalls=False,
        ),
        Preset(
            name="agent",
            says=f"{FOUND} What you state is kept as facts, with your questions and whom or what they name. "
            "Recalled is what is .3 important or more.",
            least_importance=0.3,
            statements=True,
            questions=True,
            entities=10,
            depth=1,
        ),
        Preset(
            name="inject",
            says=f"{FOUND} As facts only what you ask for is kept; at most two are recalled.",
            most=2,
            exchange=True,
        ),
        Preset(
            name="generative",
            says=f"{FOUND} What you state is observed and rated; reflections build on it. "
            "Recalled is what scores .35 or more by relevance, recency and importance together.",
            least_score=0.35,
            statements=True,
            tier="short_term",
        ),
        Preset(
            name="graph",
            says=f"{FOUND} What you state is kept as facts, whom and what you speak of as a graph.",
            statements=True,
            entities=20,
            depth=2,
            documents=True,
        ),
    )
}
