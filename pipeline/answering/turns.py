"""The parts of a chat, one turn of it while it runs, and the conversation that stores its turns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.answer import Answer, Message, Passage, Retrieval, Usage
from pipeline.answering.citations import without_markers
from pipeline.answering.recollection import MemoryReply, Recollection, looked_up
from pipeline.errors import StoreError
from pipeline.options import DEFAULT_USER, ChatOptions, PriceOptions, RetrievalOptions
from pipeline.steps.events import Trace
from pipeline.steps.records import Step, last_step
from pipeline.steps.spending import usage_of
from pipeline.stores.conversations import Conversation, Conversations, not_of
from pipeline.stores.globs import as_scope
from pipeline.stores.turns import title_of, unknown

if TYPE_CHECKING:
    from pipeline.answering.persona import Persona
    from pipeline.answering.prompts import Source
    from pipeline.models.base import ModelChoice
    from pipeline.models.clients import LanguageModel
    from pipeline.retrieve import HybridSearch

FROM_MEMORY = "(From what was said before.)"  # stands in prompts for an answer of the memory
NOT_STORED = "This answer is not stored: {why}"

Listener = Callable[[Answer, Sequence[Passage]], None]
"""Takes each turn that has ended, in whatever way, and the passages that were found for it."""


class ChatMemory(Protocol):
    """One user's memory, as a chat uses it."""

    @property
    def uses_history(self) -> bool:
        """Whether the prompt has the earlier messages of the conversation."""

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
    language: str = ""  # of the message, where it is not one of the documents'; its English name
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
        """The retrieval; call this only after the search."""
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

    def answer(self, **given: Any) -> Answer:
        """The answer as it stands, with the given fields; steps and time are added where it is stored."""
        found = self.retrieval
        verdict = found.answerability.verdict if found else None
        corrected = found.question if found and found.asked and found.question != self.question else ""
        known: dict[str, Any] = {
            "question": self.message,
            "condensed_question": self.question,
            "mode": "generate" if self.model else "quote",
            "abstained": False,
            "notices": self.notices,
            "status": "stopped" if self.stop.is_set() else "complete",
            "settings": self.options.model_dump(),
            "recalled": self.recollection.shown(verdict),
            "verdict": verdict,
            "corrected": corrected,
        } | given
        return Answer(model=self.model if known["mode"] == "generate" else "", **known)


def history_of(conversation: Conversation | None, *, before: str = "") -> list[Message]:
    """Return the messages of a stored conversation that later questions may refer to.

    Given a turn's id, these are the messages `before` it; raises `UnknownConversation` without that turn.
    """
    turns = conversation.turns if conversation else ()
    ids = [turn.id for turn in turns]
    if before and before not in ids:
        raise unknown("answer", before)
    kept = turns[: ids.index(before)] if before else turns
    return [message for turn in kept for message in messages_of(turn.answer)]


def messages_of(answer: Answer) -> list[Message]:
    """Return a turn as two messages, without citation markers: their numbers mean nothing in a later prompt.

    Empty where no later question refers to it: small talk, requests to the memory, forgotten turns, and a
    failed turn without text, which the model would answer again.
    """
    text = answer.text
    if answer.mode in ("reply", "memory"):
        text = FROM_MEMORY if looked_up(answer) else ""
    if not (answer.question.strip() and text.strip()):
        return []
    return [Message("user", answer.question), Message("assistant", without_markers(text))]


def conversation_of(parts: ChatParts, conversation_id: str) -> Conversation | None:
    """Return a conversation, None without an id; raises `UnknownConversation`, also for another user's."""
    if not conversation_id:
        return None
    found = parts.conversations.get(conversation_id)
    if found.info.user != parts.user:
        raise not_of(parts.user, found.info)
    return found


class KeptConversation:
    """Where a chat's turns are stored; a new conversation gets its `id` with the first of them."""

    def __init__(self, parts: ChatParts, conversation_id: str) -> None:
        self.parts = parts
        self.id = conversation_id

    def keep(self, turn: RunningTurn, answer: Answer) -> Answer:
        """Store a turn with all its steps, replacing what was stored of it before."""
        parts, trace = self.parts, turn.trace
        usage, steps = usage_of(turn.spent, parts.prices), tuple(trace.steps)
        turn.outcome = replace(answer, steps=steps, seconds=trace.seconds, turn_id=turn.turn_id, usage=usage)
        if not self.id:
            title, scope = title_of(turn.message), as_scope(parts.options.paths)
            self.id = parts.conversations.create(title, user=parts.user, scope=scope).info.id
        replaced = "" if turn.turn_id else turn.instead_of
        turn.turn_id = parts.conversations.save_turn(self.id, turn.outcome, instead_of=replaced)
        turn.outcome = replace(turn.outcome, turn_id=turn.turn_id, conversation_id=self.id)
        return turn.outcome

    def keep_if_possible(self, turn: RunningTurn, answer: Answer) -> Answer:
        """Return the answer, stored; where the store cannot be written, with a notice that says so."""
        try:
            return self.keep(turn, answer)
        except StoreError as error:
            notices = (*answer.notices, NOT_STORED.format(why=error))
            turn.outcome = replace(turn.finished, notices=notices, turn_id="")
            return turn.outcome

    def keep_so_far(self, turn: RunningTurn) -> None:
        """Store a turn that is being answered: as stopped, so that what a kill leaves behind says so."""
        self.keep(turn, turn.answer(text=turn.text, status="stopped"))

    def keep_so_far_if_possible(self, turn: RunningTurn) -> None:
        """Store a turn that is being answered; where that fails, the next call or the end stores it."""
        with suppress(StoreError):
            self.keep_so_far(turn)

    def keep_failed(self, turn: RunningTurn, why: str) -> Answer:
        """Store what there is of a failed turn, with why it ended as its last notice."""
        kept = turn.partial or turn.answer(text=turn.text)
        return self.keep(turn, replace(kept, status="failed", notices=(*turn.notices, why)))
