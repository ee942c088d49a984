"""A chat over the small manual, with a model that says what it is told to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pipeline.answer import Answer
from pipeline.answering.persona import Persona
from pipeline.chat import ChatParts, ChatRecipe
from pipeline.models.base import ModelChoice
from pipeline.steps.events import AnswerFinished, ChatEvent, StepFinished
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.conversations import EmbeddedConversations
from tests.pipeline.searching import make_search

CHOICE = ModelChoice("language model", "fake/model", "ollama", "a fake")
NO_CHOICE = ModelChoice("language model", "", "none", "nothing answers", "Start a model.")
QUESTION = "What does the cabin fan do?"


def make_recipe(
    store: EmbeddedStore, conversations: EmbeddedConversations, *, llm: Any = None, **given: Any
) -> ChatRecipe:
    """A chat; keywords are those of `ChatParts`, or options of the search."""
    conversation_id = given.pop("conversation_id", None)
    names = ("quotes", "history_tokens", "max_answer_tokens", "context_window", "persona")
    own = {name: given.pop(name) for name in names if name in given}
    hybrid_search = make_search(store, **{"rerank": False} | given)
    parts = ChatParts(
        hybrid_search=hybrid_search,
        options=hybrid_search.options,
        llm=llm,
        choice=CHOICE if llm else NO_CHOICE,
        conversations=conversations,
        **{"persona": Persona()} | own,
    )
    return ChatRecipe(parts, conversation_id)


def open_conversations(folder: Path) -> EmbeddedConversations:
    """A store of conversations in a folder."""
    return EmbeddedConversations(folder / "athena.sqlite")


def answered(events: Iterable[ChatEvent]) -> Answer:
    """The answer of a run that must go well."""
    *_, last = events
    assert isinstance(last, AnswerFinished), last
    answer: Answer = last.answer
    return answer


def step_names(events: Iterable[ChatEvent]) -> list[str]:
    """The finished steps, in order."""
    return [event.step.name for event in events if isinstance(event, StepFinished)]
