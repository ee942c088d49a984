"""The options of the memory, and the presets: what each keeps of a turn, and how it recalls.

All presets write and read the same tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, PositiveInt

from pipeline.options import Options, Share

PresetName = Literal["none", "short_term", "agent", "inject", "generative", "graph"]
Relevance = Literal["cosine", "distance"]

THRESHOLDS: Mapping[str, float] = {"all-MiniLM-L6-v2": 0.38}
"""The least cosine of a recalled memory, by embedding model: at most 2 of 100 unrelated messages of the
talks in `evals/data/memory/talks` recall anything."""

OTHER_THRESHOLD = 0.8
"""For a model that was not calibrated: rather recall too little."""


class MemorySettings(Options):
    """The options of the memory that are settings, too."""

    memory: PresetName = Field(
        "inject", description="what is remembered: none, short_term, agent, inject, generative or graph"
    )
    memory_relevance: Relevance = Field(
        "cosine", description="similarity: the cosine, or 1/(1+d) with the vectors' distance d"
    )
    memory_stm_size: PositiveInt = Field(
        10, description="generative preset: short-term memories before the oldest move on"
    )


class MemoryOptions(MemorySettings):
    """Options of keeping and recalling memories."""

    memory_tokens: PositiveInt = 500  # of the memories in the prompt
    memory_threshold: Share | None = None  # least cosine of a recalled memory; None: the embedding model's
    memory_ltm_size: PositiveInt = 1_000  # long-term memories before the least important are summarised


FOUND = "Athena finds your earlier messages again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One memory design as a set of policies."""

    name: PresetName
    says: str  # to a user who chooses
    history: bool = True  # the conversation goes into the prompt
    recalls: bool = True  # memories and turns are recalled, and requests ("remember that …") are taken
    most: int = 5  # recalled memories
    least_importance: float = 0.0  # of a recalled memory
    exchange: bool = False  # memories go in as a short exchange; none for a request to a tool
    statements: bool = False  # the user's statements are kept unasked, where a model reads them
    tier: Literal["short_term", "long_term"] = "long_term"  # where new memories go
    questions: bool = False  # questions are kept with their answers
    entities: int = 0  # recalled; with some, the names and relations of every turn are kept
    relations: int = 0  # recalled
    depth: int = 0  # of the neighbourhood that is read
    best_known: int = 0  # entities that go into every prompt, by frequency and recency

    @property
    def unasked(self) -> bool:
        """Tell whether something may be kept of any message."""
        return self.statements or self.questions or self.depth > 0


PRESETS: Mapping[PresetName, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="none",
            says="Athena keeps nothing: every message stands alone.",
            history=False,
            recalls=False,
        ),
        Preset(
            name="short_term",
            says="Athena remembers a conversation while it goes on, and nothing after it.",
            recalls=False,
        ),
        Preset(
            name="agent",
            says=f"{FOUND} It keeps what you state and ask, and names.",
            least_importance=0.3,
            statements=True,
            questions=True,
            entities=10,
            relations=15,
            depth=1,
        ),
        Preset(name="inject", says=f"{FOUND} It keeps a fact only if you ask it to.", most=2, exchange=True),
        Preset(
            name="generative",
            says=f"{FOUND} It keeps what you state, rates it, and reflects on it.",
            statements=True,
            tier="short_term",
        ),
        Preset(
            name="graph",
            says=f"{FOUND} It keeps what you state, and a graph of names and their relations.",
            statements=True,
            entities=20,
            relations=15,
            depth=2,
            best_known=5,
        ),
    )
}
