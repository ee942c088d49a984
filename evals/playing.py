"""Replay of conversations through the product, in a temporary data folder and with their own clock."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from athena.assistant import Athena
from athena.components import build_components, open_store
from athena.lazy import Lazy
from evals.datasets import Document
from evals.indexing import index_documents
from memory.chat import finish_turn
from memory.requests import request_in
from pipeline.answer import Answer
from pipeline.options import PriceOptions
from pipeline.steps.records import data_of

if TYPE_CHECKING:
    from athena.settings import Settings
    from evals.talks import Step, Talk
    from pipeline.stores.base import Store

PAUSE_S = 1.0  # between steps with the same time
OWN = frozenset({"conversations", "memories", "rows", "close"})  # not from the store of documents
Seen = TypeVar("Seen")
EMPTY = Document(_id="empty", title="Empty", text="Nothing.")  # a chat needs an index


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a question, and the text that the user sees."""

    answer: Answer
    text: str

    @property
    def recall(self) -> Mapping[str, Any]:
        """The data of the "recall" step; {} without one."""
        return data_of(self.answer.steps, "recall")

    @property
    def from_memory(self) -> bool:
        """Whether the memory answers: its verdict is "remembered", or it has none and recalls something."""
        if self.answer.mode != "memory":
            return False
        verdict = self.recall.get("verdict")
        return verdict == "remembered" if verdict else bool(self.answer.recalled)

    @property
    def left_alone(self) -> bool:
        """Whether neither the memory nor the documents claim to answer."""
        if self.answer.mode == "memory":
            return not self.from_memory
        return self.answer.abstained or self.answer.verdict != "answered"

    @property
    def recalls(self) -> bool:
        """Whether the answer is from the memory, or shows or uses anything that it recalled."""
        return self.from_memory or bool(self.answer.recalled) or self.recall.get("verdict") == "remembered"


class PlayedStore:
    """A store with the documents of one store, which `close` leaves open, and the other data of another."""

    def __init__(self, documents: Store, own: Store) -> None:
        self._documents, self._own = documents, own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own if name in OWN else self._documents, name)


class PlayedAthena(Athena):
    """An Athena with its own conversations and memories, over the documents and models of another one."""

    def __init__(self, live: Athena, settings: Settings, *, documents: Store) -> None:
        own = build_components(settings, live.models.given)
        store: Lazy[Store] = Lazy(lambda: cast("Store", PlayedStore(documents, open_store(settings))))
        super().__init__(replace(own, models=live.models, store=store))
        self.at = 0.0  # the time of its clock, in seconds since the epoch
        self.conversations.clock = lambda: self.at

    def say(self, message: str, **given: Any) -> Answer:
        """Send a message as a user would, wait until the memory is up to date, and return the answer."""
        answer = self.ask(message, **given)
        self.finish()
        return answer

    def save(self, text: str, *, user: str, conversation_id: str | None) -> Answer:
        """Store a message without answering it; return the turn's `Answer`, with the message as its text."""
        known = conversation_id or self.conversations.create(user=user).info.id
        answer = Answer(text, text, "", "quote", "", abstained=False)
        return self.conversations.turn(self.conversations.save_turn(known, answer)).answer

    def tell(self, message: str, *, user: str, conversation_id: str | None) -> Answer:
        """Save a message unanswered and let the memory keep its facts; answer only requests to the memory."""
        if request_in(message):
            return self.say(message, user=user, conversation_id=conversation_id)
        answer = self.save(message, user=user, conversation_id=conversation_id)
        memory, prices = self.memory_of(user), PriceOptions()
        finish_turn(memory, self.conversations, answer.turn_id, passage="", prices=prices)
        return answer


@dataclass(frozen=True, slots=True)
class Moment:
    """A question or check of a talk, with the state of the talk at this step."""

    athena: PlayedAthena
    talk: Talk
    step: Step
    conversation: str  # id of the running one; "" = none yet
    ids: Mapping[str, str]  # id of a stored turn → id of the talk's message

    def reply(self) -> Reply:
        """Ask the step's question, in the running conversation if it needs it, else in a private one."""
        inside = self.conversation if self.step.needs == "turn" else None
        question, user = self.step.ask or self.step.unrelated, self.talk.name
        answer = self.athena.say(question, user=user, conversation_id=inside, private=inside is None)
        return Reply(answer, self.athena.with_memories(answer, user=user)[0].text)


def played(
    athena: PlayedAthena, talk: Talk, judge: Callable[[Moment], Iterable[Seen]], *, answering: bool = True
) -> Iterator[Seen]:
    """Play a talk, and answer its messages if `answering`; yield the judge's results for all other steps."""
    conversation, ids = "", dict[str, str]()
    athena.at = 0.0
    for step in talk.steps:
        athena.at = max(step.at or 0.0, athena.at + PAUSE_S)
        if not step.say:
            yield from judge(Moment(athena, talk, step, conversation, ids))
            continue
        conversation = "" if step.session else conversation
        to: dict[str, Any] = {"user": talk.name, "conversation_id": conversation or None}
        if step.speaker:
            answer = athena.save(f"{step.speaker}: {step.say}", **to)
        else:
            answer = (athena.say if answering else athena.tell)(step.say, **to)
        conversation, ids[answer.turn_id] = answer.conversation_id, step.id


@contextmanager
def playing(live: Athena, **changes: object) -> Iterator[PlayedAthena]:
    """Open a `PlayedAthena` in a temporary folder; `changes` are settings that differ from the live ones.

    It answers from the live index or, if nothing is indexed, from an index of the document `EMPTY`.
    """
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="athena-eval-")))
        here = {"data_dir": folder, "store": "embedded", "phoenix_url": ""}
        settings = live.settings.model_copy(update=here | changes)
        documents = live.store
        if documents.statistics().manifest is None:
            elsewhere = settings.model_copy(update={"data_dir": folder / "documents"})
            documents = opened.enter_context(closing(open_store(elsewhere)))
            index_documents(live, [EMPTY], store=documents)
        yield opened.enter_context(closing(PlayedAthena(live, settings, documents=documents)))
