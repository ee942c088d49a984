"""The parts of a chat, and one turn of it: while it runs, and when it has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.answer import Answer, Message, Passage, Retrieval, Usage
from pipeline.answering.recollection import MemoryReply, Recollection
from pipeline.options import DEFAULT_USER, ChatOptions, PriceOptions, RetrievalOptions
from pipeline.steps.events import Trace
from pipeline.steps.records import Step, last_step

if TYPE_CHECKING:
    from pipeline.answering.persona import Persona
    from pipeline.answering.prompts import Source
    from pipeline.models.base import ModelChoice
    from pipeline.models.clients import LanguageModel
    from pipeline.retrieve import HybridSearch
    from pipeline.stores.conversations import Conversations


Listener = Callable[[Answer, Sequence[Passage]], None]
"""Takes each turn that has ended, in whatever way, and the passages that were found for it."""


class ChatMemory(Protocol):
    """One user's memory, as a chat uses it."""

    @property
    def uses_history(self) -> bool:
        """Whether earlier messages belong to a message."""

    def concerns(self, message: str) -> bool:
        """Whether a message is a request to the memory: "remember that …", "what do you know about me?"."""

    def reply(self, message: str, *, turn_id: str) -> MemoryReply:
        """Do such a request and return the reply."""

    def recall(
        self, message: str, *, question: str, left: Sequence[Message], turn_id: str = ""
    ) -> Recollection:
        """Recall memories for a message and its standalone question, except from its own turn.

        `left` are the messages of the conversation that the prompt has no room for.
        """

    def planned(self, message: str) -> Step:
        """The step that will follow the answer, as far as it is known before."""

    def remember(self, answer: Answer, passages: Sequence[Passage]) -> None:
        """Keep memories of a turn; the work is done later, so that no answer waits for it."""

    def texts(self, ids: Sequence[str]) -> Mapping[str, str]:
        """The texts of memories by id, without forgotten ones."""

    def said_by_user(self, ids: Sequence[str]) -> Collection[str]:
        """The ids of those memories that rest on the user's own words."""


class ChatAgent(Protocol):
    """An agent that chooses its tools before it answers."""

    def work(self, turn: RunningTurn, parts: ChatParts) -> Sequence[Source] | None:
        """Write `turn.text` and return the sources that it may cite; None where the agent gave up.

        A notice says why it gave up. Where the turn is stopped, the sources read by then are returned.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatParts:
    """The parts of a chat; each of `listeners` is called with every turn that has ended."""

    hybrid_search: HybridSearch
    options: RetrievalOptions
    llm: LanguageModel | None
    choice: ModelChoice
    conversations: Conversations
    persona: Persona
    limits: ChatOptions
    listeners: Sequence[Listener] = ()
    prices: PriceOptions = field(default_factory=PriceOptions)
    user: str = DEFAULT_USER
    memory: ChatMemory | None = None  # without one, nothing is recalled or remembered
    agent: ChatAgent | None = None  # answers instead of the recipe, where a model is connected

    @property
    def model_name(self) -> str:
        """The language model's name; "" where none is connected."""
        return self.choice.name if self.llm is not None else ""


@dataclass(slots=True)
class RunningTurn:
    """One turn while it runs; its steps fill it in."""

    message: str
    history: Sequence[Message]
    stop: threading.Event
    model: str  # "" = none is connected
    options: RetrievalOptions
    trace: Trace
    queries: tuple[str, ...] = ()  # the message as it is searched for; several where it asks several things
    hypothesis: str = ""  # a hypothetical answer to search with
    carried: str = ""  # the earlier question that was searched for with the message
    recollection: Recollection = field(default_factory=Recollection)
    retrieval: Retrieval | None = None
    file_hashes: Mapping[str, str] = field(default_factory=dict)
    text: str = ""  # as the model wrote it
    notices: tuple[str, ...] = ()
    turn_id: str = ""
    instead_of: str = ""  # id of the turn that it replaces
    partial: Answer | None = None  # of a generation that broke off, with its citations
    outcome: Answer | None = None  # how it ended, also where that could not be stored
    spent: list[Usage] = field(default_factory=list)  # tokens of language models

    @property
    def question(self) -> str:
        """The message as one question that stands alone."""
        return "; ".join(self.queries) or self.message

    @property
    def found(self) -> Retrieval:
        """The retrieval; there is one after the search."""
        assert self.retrieval is not None  # noqa: S101  (the recipe retrieves first)
        return self.retrieval

    @property
    def cut_off(self) -> bool:
        """Whether the text was stopped, or ended by its length or a failure: within a sentence, then."""
        step = last_step(self.trace.steps, "generate")
        return step is not None and (
            step.status == "failed" or step.data.get("finish_reason") in ("stopped", "length")
        )

    @property
    def finished(self) -> Answer:
        """The turn as it stands, also where it could not be stored."""
        steps, seconds = tuple(self.trace.steps), self.trace.seconds
        return self.outcome or replace(self.answer(text=self.text), steps=steps, seconds=seconds)

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The passages found; none where the turn ended before the search."""
        return self.retrieval.passages if self.retrieval else ()

    @property
    def _corrected(self) -> str:
        found = self.retrieval
        return found.question if found and found.asked and not self.carried else ""

    def answer(self, **given: Any) -> Answer:
        """The answer as it stands, with the given fields; steps and time are added where it is stored."""
        verdict = self.retrieval.answerability.verdict if self.retrieval else None
        known: dict[str, Any] = {
            "question": self.message,
            "condensed_question": self.question,
            "carried": self.carried,
            "mode": "generate" if self.model else "quote",
            "abstained": False,
            "notices": self.notices,
            "status": "stopped" if self.stop.is_set() else "complete",
            "settings": self.options.model_dump(),
            "recalled": self.recollection.shown(verdict),
            "verdict": verdict,
            "corrected": self._corrected,
        } | given
        return Answer(model=self.model if known["mode"] == "generate" else "", **known)
