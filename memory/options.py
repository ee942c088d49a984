"""The memory's options, and its presets: policies for what is kept from a turn and how it is recalled.

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
"""The least cosine of a recalled memory, by embedding model. With it, at most 2 of 100 unrelated messages
of the talks in `evals/data/memory/talks` recall anything."""

OTHER_THRESHOLD = 0.8
"""The least cosine for any other embedding model: high, to recall too little rather than too much."""


class MemorySettings(Options):
    """The options of the memory that users can set, as `ATHENA_MEMORY` and others."""

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
    """All options for storing and recalling memories."""

    memory_tokens: PositiveInt = 500  # most tokens of memories in the prompt
    memory_threshold: Share | None = None  # least cosine of a recalled memory; None: by embedding model
    memory_ltm_size: PositiveInt = 1_000  # long-term memories before the least important are summarised


FOUND = "Athena finds your earlier messages again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One memory design as a set of policies."""

    name: PresetName
    says: str  # description for a user who chooses a preset
    history: bool = True  # earlier messages of the conversation go into the prompt
    recalls: bool = True  # memories and turns are recalled, and requests ("remember that …") accepted
    most: int = 5  # most recalled memories
    least_importance: float = 0.0  # of a recalled memory
    exchange: bool = False  # memories enter the prompt as a short exchange; none for a tool call
    statements: bool = False  # the user's statements are kept without a request, if a model finds them
    tier: Literal["short_term", "long_term"] = "long_term"  # where new memories go
    questions: bool = False  # questions are kept with their answers
    entities: int = 0  # most recalled entities
    relations: int = 0  # most recalled relations
    depth: int = 0  # steps in the graph that a recall follows; above 0, the names in every turn are kept
    best_known: int = 0  # most mentioned entities that go into every prompt

    @property
    def unasked(self) -> bool:
        """Tell whether the preset may keep something from a message without a request."""
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
