"""What a chat is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.answering.context import Budget
from pipeline.answering.turn import Listener
from pipeline.options import DEFAULT_USER, ChatOptions

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from pipeline.answering.persona import Persona
    from pipeline.answering.remembering import ChatMemory
    from pipeline.models.base import ModelChoice
    from pipeline.options import RetrievalOptions
    from pipeline.retrieve import HybridSearch
    from pipeline.stores.conversations import Conversations


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatParts:
    """The parts of a chat; each of `listeners` hears of every turn when it is over, however it ended."""

    hybrid_search: HybridSearch
    options: RetrievalOptions
    llm: LLM | None
    choice: ModelChoice
    conversations: Conversations
    persona: Persona
    limits: ChatOptions
    listeners: Sequence[Listener] = ()
    kept: bool = True  # whether what is said outlives the process
    user: str = DEFAULT_USER
    memory: ChatMemory | None = None  # without one, nothing is recalled or remembered

    @property
    def model_name(self) -> str:
        """The language model's name; "" where none is connected."""
        return self.choice.name if self.llm is not None else ""

    def budget(self, options: RetrievalOptions) -> Budget:
        """The tokens of a prompt whose sources were found with these options."""
        prompt = max(512, self.limits.context_window - self.limits.max_answer_tokens)
        return Budget(prompt, options.context_tokens, self.limits.history_tokens)
