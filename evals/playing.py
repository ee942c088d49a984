"""Play conversations through the product, in a temporary data folder and at their own time."""

from __future__ import annotations

import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from athena.assistant import Athena
from athena.components import build_components
from athena.lazy import Lazy
from athena.stores import open_store
from evals.datasets import Document
from evals.indexing import index_documents
from pipeline.steps.records import data_of
from pipeline.terms import content_terms, share, text_terms

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from athena.settings import Settings
    from pipeline.answer import Answer
    from pipeline.stores.base import Manifest, SectionStore, SentenceIndex, Store, Writing
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.memories import Memories
    from pipeline.stores.rows import Rows

ENOUGH = 0.6  # of the gold's content terms
ARTICLES = frozenset({"a", "an", "the"})
EMPTY = Document(_id="empty", title="Empty", text="Nothing.")  # a chat needs an index


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a question, with its text as it is shown."""

    answer: Answer
    text: str

    @property
    def recall(self) -> Mapping[str, Any]:
        """The data of the "recall" step; {} without one."""
        return data_of(self.answer.steps, "recall")

    @property
    def from_memory(self) -> bool:
        """Whether the memory answers, and its verdict is "remembered"."""
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
        """Whether the answer comes with anything from the memory."""
        return self.from_memory or bool(self.answer.recalled) or self.recall.get("verdict") == "remembered"


class PlayedStore:
    """The documents of one store, which stays open, and the conversations and memories of another."""

    def __init__(self, documents: Store, own: Store) -> None:
        self.sections: SectionStore = documents.sections
        self.sentences: SentenceIndex = documents.sentences
        self.conversations: Conversations = own.conversations
        self.memories: Memories = own.memories
        self.rows: Rows = own.rows
        self._documents, self._own = documents, own

    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> AbstractContextManager[Writing]:
        """Change the documents."""
        return self._documents.writing(manifest, rebuild=rebuild)

    def close(self) -> None:
        """Close the store of the conversations and memories."""
        self._own.close()


class PlayedAthena(Athena):
    """An Athena with its own conversations and memories, over the documents and models of another one."""

    def __init__(self, live: Athena, settings: Settings, *, documents: Store) -> None:
        own = build_components(settings, live.models.given)
        store: Lazy[Store] = Lazy(lambda: PlayedStore(documents, open_store(settings)))
        super().__init__(replace(own, models=live.models, store=store))
        self.at = 0.0  # its present time
        self.conversations.clock = lambda: self.at

    def reply_to(self, question: str, *, user: str, conversation_id: str | None = None) -> Reply:
        """Ask in a conversation, or privately in a new one."""
        answer = self.say(
            question, user=user, conversation_id=conversation_id, private=conversation_id is None
        )
        return Reply(answer, self.with_memories(answer, user=user)[0].text)

    def say(self, message: str, **given: Any) -> Answer:
        """Say a message in a chat (`Athena.chat`), wait until it is remembered, and return the answer."""
        answer = self.ask(message, **given)
        self.finish()
        return answer


@contextmanager
def playing(live: Athena, **changes: object) -> Iterator[PlayedAthena]:
    """Open one in a temporary folder; `changes` are settings.

    It answers from the live index, or from an empty one if nothing is indexed.
    """
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="athena-eval-")))
        here = {"data_dir": folder, "store": "embedded", "phoenix_url": ""}
        settings = live.settings.model_copy(update=here | changes)
        documents = live.store
        if documents.sections.statistics().manifest is None:
            elsewhere = settings.model_copy(update={"data_dir": folder / "documents"})
            documents = opened.enter_context(closing(open_store(elsewhere)))
            index_documents(live, [EMPTY], store=documents)
        yield opened.enter_context(closing(PlayedAthena(live, settings, documents=documents)))


def has_span(text: str, gold: str) -> bool:
    """Whether a text has the gold answer word for word, apart from case, punctuation and articles."""
    return f" {_plain(gold)} " in f" {_plain(text)} "


def has_terms(text: str, gold: str) -> bool:
    """Whether a text has enough of the gold answer's content terms."""
    return share(content_terms(gold), text_terms(text)) >= ENOUGH


def _plain(text: str) -> str:
    letters = (char if char.isalnum() else " " for char in unicodedata.normalize("NFKC", text).casefold())
    return " ".join(word for word in "".join(letters).split() if word not in ARTICLES)
