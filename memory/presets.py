"""The presets: what each keeps of a turn and how it reads. All write and read the same tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memory.options import PresetName

_FOUND = "All that was said is found again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One set of policies."""

    name: PresetName
    says: str  # to a user who chooses
    history: bool = True  # the conversation goes into the prompt
    commands: bool = True  # "remember that …", "forget …"
    recalls: bool = True
    most: int = 5  # memories recalled
    least_importance: float = 0.0  # of what is recalled
    least_score: float = 0.0  # of what is recalled: recency, importance and relevance, weighed and added
    exchange: bool = False  # slipped into the history as a short exchange
    skips_tools: bool = False  # nothing is recalled for messages about tools
    statements: bool = False  # what a user states is kept unasked
    tier: Literal["short_term", "long_term"] = "long_term"  # of what is kept unasked
    questions: bool = False  # questions are kept with their answers
    graph: bool = False  # entities and relations of all turns are kept
    entities: int = 0  # recalled
    relations: int = 0  # recalled
    depth: int = 0  # of the neighbourhood that is read
    documents: bool = False  # the graph is also of the documents that are named for it
    cascade: bool = False  # short-term before long-term, instead of merged by score

    @property
    def unasked(self) -> bool:
        """Whether something may be kept of any message, asked for or not."""
        return self.statements or self.graph or self.questions


PRESETS: Mapping[PresetName, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="none",
            says="Every message stands alone: no fact is kept, and nothing that was said is found again.",
            history=False,
            commands=False,
            recalls=False,
        ),
        Preset(
            name="short_term",
            says="The conversation is remembered while it goes on, and nothing after it: no fact is kept.",
            commands=False,
            recalls=False,
        ),
        Preset(
            name="agent",
            says=f"{_FOUND} What you state is kept as facts, with your questions and whom or what they name. "
            "Recalled is what is .3 important or more.",
            least_importance=0.3,
            statements=True,
            questions=True,
            graph=True,
            entities=10,
            relations=15,
            depth=1,
        ),
        Preset(
            name="inject",
            says=f"{_FOUND} As facts only what you ask for is kept; at most two are recalled.",
            most=2,
            exchange=True,
            skips_tools=True,
        ),
        Preset(
            name="generative",
            says=f"{_FOUND} What you state is observed and rated; reflections build on it. "
            "Recalled is what scores .35 or more by relevance, recency and importance together.",
            least_score=0.35,
            statements=True,
            tier="short_term",
            cascade=True,
        ),
        Preset(
            name="graph",
            says=f"{_FOUND} What you state is kept as facts, whom and what you speak of as a graph.",
            statements=True,
            graph=True,
            entities=20,
            relations=15,
            depth=2,
            documents=True,
        ),
    )
}
