"""The components of a chat, a turn while it runs, and the conversation that stores the turns."""

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

FROM_MEMORY = "(From what was said before.)"  # replaces an answer of the memory in later prompts
NOT_STORED = "This answer is not stored: {why}"

Listener = Callable[[Answer, Sequence[Passage]], None]
"""A function called with each turn that has ended, also a failed one, and the passages found for it."""


class ChatMemory(Protocol):
    """The interface of one user's memory that a chat uses."""

    @property
    def uses_history(self) -> bool:
        """Whether the chat may use the earlier messages of the conversation."""

    def concerns(self, message: str) -> bool:
        """Return whether a message is a request to the memory: "remember that …"."""

    def reply(self, message: str, *, turn_id: str) -> MemoryReply:
        """Carry out a request for which `concerns` is True, and return the reply."""

    def recall(
        self, message: str, *, question: str, left: Sequence[Message], turn_id: str = ""
    ) -> Recollection:
        """Return the memories for a message and its standalone `question`, except from its own turn.

        `left` are the earlier messages for which the prompt has no room; they may be summarised.
        """

    def planned(self, message: str) -> Step:
        """Return the "remember" step of a turn before it runs, to be stored with the answer."""

    def remember(self, answer: Answer, passages: Sequence[Passage]) -> None:
        """Start storing memories of a turn in the background, so that no answer waits for it."""

    def texts(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of memories by id, without forgotten ones."""

    def said_by_user(self, ids: Sequence[str]) -> Collection[str]:
        """Return those of the ids whose memories come from the user's own words."""


class ChatAgent(Protocol):
    """An agent that chooses its tools before it answers."""

    def work(self, turn: RunningTurn, parts: ChatParts) -> Sequence[Source] | None:
        """Write the answer to `turn.text` and return the sources that it may cite; None if the agent gave up.

        A notice then has the reason. If the turn is stopped, return the sources read by then.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatParts:
    """The components of a chat; each of `listeners` is called with every turn that has ended."""

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
    memory: ChatMemory | None = None  # None: nothing is recalled or remembered
    agent: ChatAgent | None = None  # answers instead of the recipe, if a model is connected

    @property
    def model_name(self) -> str:
        """The language model's name; "" if none is connected."""
        return self.choice.name if self.llm is not None else ""


@dataclass(slots=True)
class RunningTurn:
    """One turn while it runs; the steps set its fields."""

    message: str
    history: Sequence[Message]
    stop: threading.Event
    model: str  # "" = none is connected
    options: RetrievalOptions
    trace: Trace
    queries: tuple[str, ...] = ()  # the search queries; several if the message asks several things
    hypothesis: str = ""  # a hypothetical answer to search with
    language: str = ""  # English name of the message's language if no document has it, else ""
    recollection: Recollection = field(default_factory=Recollection)
    retrieval: Retrieval | None = None
    file_hashes: Mapping[str, str] = field(default_factory=dict)
    text: str = ""  # raw text from the model
    notices: tuple[str, ...] = ()
    turn_id: str = ""
    instead_of: str = ""  # id of the turn that it replaces
    partial: Answer | None = None  # the cited part of an answer that broke off
    outcome: Answer | None = None  # the final answer, even if it could not be stored
    spent: list[Usage] = field(default_factory=list)  # tokens of each request to a language model

    @property
    def question(self) -> str:
        """The standalone question: the queries joined by "; ", or the message before they are set."""
        return "; ".join(self.queries) or self.message

    @property
    def found(self) -> Retrieval:
        """The retrieval; call this only after the search."""
        assert self.retrieval is not None  # noqa: S101  (the recipe retrieves first)
        return self.retrieval

    @property
    def cut_off(self) -> bool:
        """Whether generation failed, was stopped or reached the token limit, perhaps within a sentence."""
        step = last_step(self.trace.steps, "generate")
        return step is not None and (
            step.status == "failed" or step.data.get("finish_reason") in ("stopped", "length")
        )

    @property
    def finished(self) -> Answer:
        """The turn's final answer (`outcome`), or the answer so far if there is none yet."""
        steps, seconds = tuple(self.trace.steps), self.trace.seconds
        return self.outcome or replace(self.answer(text=self.text), steps=steps, seconds=seconds)

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The passages found; () if the turn ended before the search."""
        return self.retrieval.passages if self.retrieval else ()

    def answer(self, **given: Any) -> Answer:
        """Return an answer from the turn's fields and the `given` ones; `keep` adds steps, time and usage."""
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

    If `before` is a turn's id, return only earlier messages; raise `UnknownConversation` if it is unknown.
    """
    turns = conversation.turns if conversation else ()
    ids = [turn.id for turn in turns]
    if before and before not in ids:
        raise unknown("answer", before)
    kept = turns[: ids.index(before)] if before else turns
    return [message for turn in kept for message in messages_of(turn.answer)]


def messages_of(answer: Answer) -> list[Message]:
    """Return a turn as two messages, without citation markers: their numbers mean nothing in a later prompt.

    Return [] for turns that no later question refers to: small talk, requests to the memory, forgotten turns,
    and failed turns without text, which the model would answer again.
    """
    text = answer.text
    if answer.mode in ("reply", "memory"):
        text = FROM_MEMORY if looked_up(answer) else ""
    if not (answer.question.strip() and text.strip()):
        return []
    return [Message("user", answer.question), Message("assistant", without_markers(text))]


def conversation_of(parts: ChatParts, conversation_id: str) -> Conversation | None:
    """Return a conversation, None for ""; raise `UnknownConversation` if it is missing or another user's."""
    if not conversation_id:
        return None
    found = parts.conversations.get(conversation_id)
    if found.info.user != parts.user:
        raise not_of(parts.user, found.info)
    return found


class KeptConversation:
    """The stored conversation of a chat; a new one gets its `id` when its first turn is stored."""

    def __init__(self, parts: ChatParts, conversation_id: str) -> None:
        self.parts = parts
        self.id = conversation_id

    def keep(self, turn: RunningTurn, answer: Answer) -> Answer:
        """Store a turn with its steps, replacing its stored version, and return it. Raises `StoreError`."""
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
        """Store and return the answer; if the store cannot be written, return it with a notice about that."""
        try:
            return self.keep(turn, answer)
        except StoreError as error:
            notices = (*answer.notices, NOT_STORED.format(why=error))
            turn.outcome = replace(turn.finished, notices=notices, turn_id="")
            return turn.outcome

    def keep_so_far(self, turn: RunningTurn) -> None:
        """Store an unfinished turn as stopped, which is its right status if the process is killed."""
        self.keep(turn, turn.answer(text=turn.text, status="stopped"))

    def keep_so_far_if_possible(self, turn: RunningTurn) -> None:
        """Store an unfinished turn; ignore a `StoreError`, since a later call or the end stores it again."""
        with suppress(StoreError):
            self.keep_so_far(turn)

    def keep_failed(self, turn: RunningTurn, why: str) -> Answer:
        """Store the text of a failed turn, with the reason `why` as its last notice."""
        kept = turn.partial or turn.answer(text=turn.text)
        return self.keep(turn, replace(kept, status="failed", notices=(*turn.notices, why)))
