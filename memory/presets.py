"""The presets: what each keeps of a turn and how it reads. All write and read the same tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memory.options import PresetName


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
    exchange: bool = False  # slipped into the history as a short exchange
    skips_tools: bool = False  # nothing is recalled for messages about tools
    statements: bool = False  # what a user states is kept unasked
    tier: Literal["short_term", "long_term"] = "long_term"  # of what is kept unasked
    questions: bool = False  # questions are kept with their answers
    graph: bool = False  # entities and relations of all turns are kept
    entities: int = 0  # recalled
    relations: int = 0  # recalled
    depth: int = 0  # of the neighbourhood that is read
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
            says="Every message stands alone; nothing is remembered.",
            history=False,
            commands=False,
            recalls=False,
        ),
        Preset(
            name="short_term",
            says="The conversation is remembered while it goes on, and nothing after it.",
            commands=False,
            recalls=False,
        ),
        Preset(
            name="agent",
            says="What you state is kept, with your questions, the answers and whom or what they name.",
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
            says="Only what you ask to be remembered is kept; at most two of it are recalled at a time.",
            most=2,
            exchange=True,
            skips_tools=True,
        ),
        Preset(
            name="generative",
            says="What you state is observed, rated, and moved to long-term memory; reflections build on it.",
            statements=True,
            tier="short_term",
            cascade=True,
        ),
        Preset(
            name="graph",
            says="Whom and what you speak of is kept as a graph, with what relates them.",
            statements=True,
            graph=True,
            entities=20,
            relations=15,
            depth=2,
        ),
    )
}
