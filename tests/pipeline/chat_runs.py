"""A chat over the small manual: real retrieval and conversations, only the models are fakes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.answer import Answer, Retrieval
from pipeline.answering.persona import Persona
from pipeline.answering.turns import ChatParts
from pipeline.chat import ChatRecipe
from pipeline.llamaindex.llms import GivenModel
from pipeline.models.base import ModelChoice
from pipeline.models.clients import LanguageModel
from pipeline.options import ChatOptions
from pipeline.retrieve import HybridSearch
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, StepFinished
from pipeline.steps.records import Step
from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.turns import Turn
from tests.fake_llm import FakeLLM
from tests.pipeline.searching import make_search

PERSONA = Persona(system_header="You answer from the ship's manuals.", tone="Be brief.")
CONNECT = "Start Ollama and choose a model."


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat with what a test looks at afterwards."""

    recipe: ChatRecipe
    conversations: Conversations

    def ask(self, message: str, **given: Any) -> list[ChatEvent]:
        """All events of one run."""
        return list(self.recipe.run(message, **given))

    def answer(self, message: str, **given: Any) -> Answer:
        """The answer of a run that went well."""
        last = self.ask(message, **given)[-1]
        assert isinstance(last, AnswerFinished), last
        assert isinstance(last.answer, Answer)
        return last.answer

    def failure(self, message: str, **given: Any) -> RunFailed:
        """What a run that did not go well says."""
        last = self.ask(message, **given)[-1]
        assert isinstance(last, RunFailed), last
        return last

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns as they are stored."""
        if not self.recipe.conversation_id:
            return ()
        return self.conversations.get(self.recipe.conversation_id).turns


def make_chat(
    store: Any, conversations: Conversations, *, llm: FakeLLM | LanguageModel | None = None, **given: Any
) -> Chat:
    """A chat; `given` are its other arguments."""
    model = GivenModel(llm) if isinstance(llm, FakeLLM) else llm
    name = model.server.name if model else ""
    hybrid_search = given.pop("hybrid_search", None) or make_search(store)
    known: dict[str, Any] = {
        "options": hybrid_search.options,
        "choice": ModelChoice("language model", name, "local" if llm else "none", "", "" if llm else CONNECT),
        "persona": PERSONA,
    }
    limits = {name: given.pop(name) for name in ChatOptions.model_fields if name in given}
    known["limits"] = ChatOptions(**limits)
    conversation_id = given.pop("conversation_id", None)
    parts = ChatParts(hybrid_search=hybrid_search, llm=model, conversations=conversations, **known | given)
    return Chat(ChatRecipe(parts, conversation_id), conversations)


NewChat = Callable[..., Chat]


class Failing(HybridSearch):
    """A search whose search raises what it was given."""

    error: BaseException

    def search(self, question: str, **given: Any) -> Retrieval:
        raise self.error


def failing(store: EmbeddedStore, error: BaseException) -> Failing:
    hybrid_search = make_search(store)
    hybrid_search.__class__ = Failing
    assert isinstance(hybrid_search, Failing)
    hybrid_search.error = error
    return hybrid_search


def steps_of(events: Sequence[ChatEvent]) -> list[Step]:
    """The finished steps, in order."""
    return [event.step for event in events if isinstance(event, StepFinished)]


def stop_after(recipe: ChatRecipe, message: str, kind: type, count: int = 1) -> list[ChatEvent]:
    """The events of a run whose reader presses stop at the nth event of a kind."""
    stop = threading.Event()
    events = []
    for event in recipe.run(message, stop=stop):
        events.append(event)
        count -= isinstance(event, kind)
        if count == 0:
            stop.set()
    return events
