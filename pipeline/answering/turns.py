"""What a chat is made of, and one turn of it: while it runs, what is known so far; and when it is over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.answer import Answer, Passage, Retrieval
from pipeline.answering.recollection import MemoryReply, Recollection
from pipeline.finding.fusion import AlternativeQuery
from pipeline.messages import Message
from pipeline.models.tokens import counter_for
from pipeline.options import DEFAULT_USER, ChatOptions, PriceOptions, RetrievalOptions
from pipeline.steps.events import Events
from pipeline.steps.records import Step, last_step
from pipeline.steps.spending import Spent
from pipeline.steps.trace import Trace

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from pipeline.answering.persona import Persona
    from pipeline.answering.prompts import Source
    from pipeline.asking.follow_ups import Condensed
    from pipeline.models.base import ModelChoice
    from pipeline.models.tokens import CountTokens
    from pipeline.retrieve import HybridSearch
    from pipeline.stores.conversations import Conversations


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    """One turn when it is over, however it ended."""

    answer: Answer
    steps: tuple[Step, ...]
    passages: tuple[Passage, ...]  # none where it ended before they were found
    generated: str  # what a model wrote, before its citations were resolved
    model: str  # that was connected, also where the answer is quotes in the end; "" = none
    started_at: float  # Unix seconds
    seconds: float
    invocation: Mapping[str, float] = field(default_factory=dict)  # what the model is asked with


Listener = Callable[[FinishedTurn], None]


class ChatMemory(Protocol):
    """One user's memory, as a chat uses it; who fulfils it is not the pipeline's business."""

    @property
    def uses_history(self) -> bool:
        """Whether what was said before belongs to a message."""

    def concerns(self, message: str, *, conversation_id: str, turn_id: str = "") -> bool:
        """Whether a message is about the memory: "remember that …", "what do you know about me?".

        `turn_id` names its turn, where that is stored already.
        """

    def reply(self, message: str, *, conversation_id: str, turn_id: str) -> MemoryReply:
        """The answer to such a message, after it was done."""

    def recall(
        self, message: str, *, question: str, left: Sequence[Message], turn_id: str = ""
    ) -> Recollection:
        """What a message brings to mind, which stands for a `question`; its own turn is not looked at.

        `left` are the messages of the conversation that the prompt has no room for.
        """

    def begin(self, turn_id: str) -> None:
        """A turn is about to be stored for the first time, while it is answered: it is this process's."""

    def give_up(self, turn_id: str) -> None:
        """It could not be stored."""

    def planned(self, message: str) -> Step:
        """The step that will follow the answer, as far as it is known before."""

    def remember(self, turn: FinishedTurn) -> None:
        """Keep of a turn what there is to keep: soon, and in no way that its answer waits for."""

    def texts(self, ids: Sequence[str]) -> Mapping[str, str]:
        """What memories say; forgotten ones are left out."""

    def said_by_user(self, ids: Sequence[str]) -> Collection[str]:
        """Those of memories that rest on what the user said, not on an answer or a document."""


class ChatAgent(Protocol):
    """What chooses its tools before it answers; who fulfils it is not the pipeline's business."""

    def work(
        self, turn: RunningTurn, parts: ChatParts, *, keep: Callable[[RunningTurn], None]
    ) -> Events[Sequence[Source] | None]:
        """The passages that the answer in `turn.text` may cite; None where it gave up, as a notice says.

        `keep` is called with what there is after each step. Where the turn is stopped, what was read by then.
        """


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
    prices: PriceOptions = field(default_factory=PriceOptions)
    user: str = DEFAULT_USER
    memory: ChatMemory | None = None  # without one, nothing is recalled or remembered
    agent: ChatAgent | None = None  # answers instead of the recipe, where a model is connected

    @property
    def model_name(self) -> str:
        """The language model's name; "" where none is connected."""
        return self.choice.name if self.llm is not None else ""

    @property
    def count_tokens(self) -> CountTokens:
        """What counts a conversation's tokens: as the language model does, where that is known."""
        return counter_for(self.model_name)

    @property
    def invocation(self) -> Mapping[str, Any]:
        """How the language model is asked, for the trace; nothing where none is connected."""
        if self.llm is None:
            return {}
        from pipeline.models.llm import invocation_of

        return invocation_of(self.llm)


@dataclass(slots=True)
class RunningTurn:
    """One turn while it runs; its steps fill it in."""

    message: str
    history: Sequence[Message]
    stop: threading.Event
    model: str  # "" = none is connected
    options: RetrievalOptions  # of its search
    invocation: Mapping[str, float] = field(default_factory=dict)
    question: str = ""  # the message as it is searched for
    alternative: AlternativeQuery | None = None  # another wording that is searched for with it
    carried: str = ""  # what it has of what was said before
    other: Condensed | None = None  # its other reading, in a conversation
    recollection: Recollection = field(default_factory=Recollection)
    retrieval: Retrieval | None = None
    file_hashes: Mapping[str, str] = field(default_factory=dict)
    text: str = ""  # that a model has written
    notices: tuple[str, ...] = ()
    turn_id: str = ""
    instead_of: str = ""  # id of the turn that it is another version of
    partial: Answer | None = None  # of a generation that broke off, with its citations
    outcome: Answer | None = None  # how it ended, also where that could not be stored
    trace: Trace = field(default_factory=Trace)
    spent: list[Spent] = field(default_factory=list)  # by language models

    @property
    def found(self) -> Retrieval:
        """What was retrieved; to be read only after the search."""
        assert self.retrieval is not None  # noqa: S101  (the recipe retrieves first)
        return self.retrieval

    def read_as(self, other: Condensed) -> None:
        """Take another reading of the message for the question, also in the record of how it was made."""
        self.question, self.alternative, self.carried = other.question, other.alternative, other.carried
        steps = self.trace.steps
        place = max(place for place, step in enumerate(steps) if step.name == "condense")
        read = {"question": other.question, "carried": other.carried, "by": other.by}
        steps[place] = replace(steps[place], data={**steps[place].data, **read})

    @property
    def cut_off(self) -> bool:
        """Whether the text was stopped, or ended by its length or a failure: within a sentence, then."""
        ended = (last_step(self.trace.steps, name) for name in ("generate", "think"))
        return any(
            step.status == "failed" or step.data.get("finish_reason") in ("stopped", "length")
            for step in ended
            if step is not None
        )

    @property
    def finished(self) -> FinishedTurn:
        """All of it, once it is over."""
        return FinishedTurn(
            answer=self.outcome or self.answer(text=self.text),
            steps=tuple(self.trace.steps),
            passages=self.retrieval.passages if self.retrieval else (),
            generated=self.text,
            model=self.model,
            started_at=self.trace.started_at,
            seconds=self.trace.seconds,
            invocation=self.invocation,
        )

    def answer(self, **given: Any) -> Answer:
        """The answer as it stands, with what is given on top; where it is kept, steps and time are added."""
        verdict = self.retrieval.answerability.verdict if self.retrieval else None
        known: dict[str, Any] = {
            "question": self.message,
            "condensed_question": self.question or self.message,
            "carried": self.carried,
            "mode": "generate" if self.model else "quote",
            "abstained": False,
            "notices": self.notices,
            "status": "stopped" if self.stop.is_set() else "complete",
            "settings": self.options.model_dump(),
            "recalled": self.recollection.shown(verdict),
            "related": self.recollection.related,
            "verdict": verdict,
            "corrected": self.retrieval.question if self.retrieval and self.retrieval.asked else "",
        } | given
        return Answer(model=self.model if known["mode"] == "generate" else "", **known)
