"""A chat with a memory over the small manual, and both of its stores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from memory.chat import PRIVATE, AfterAnswers, RememberingChat
from memory.index import Indexes
from memory.options import MemoryOptions
from memory.turns import UserTurns
from memory.user_memory import UserMemory
from pipeline.answer import Answer
from pipeline.answering.recollection import filled_in, memories_named
from pipeline.options import PriceOptions
from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.database import Database
from pipeline.stores.embedded.rows import EmbeddedRows
from pipeline.stores.memories import Memories
from pipeline.stores.private import PrivateConversations
from tests.memory.fake_memories import FakeEncoder
from tests.pipeline.chat_runs import Chat, make_chat


@dataclass
class Talk:
    """A chat with a memory, and the store of both."""

    memory: UserMemory
    conversations: Conversations
    store: EmbeddedStore
    path: Path

    def chat(self, *, preset: str = "inject", private: bool = False, **given: Any) -> Chat:
        """A new conversation; `finish` does what is left for after its answers."""
        memory = replace(self.memory, options=self.memory.options.but(memory=preset))
        self.after = AfterAnswers()
        apart = PrivateConversations() if private else None
        why = PRIVATE if private else ""
        remembering = RememberingChat(memory, self.conversations, self.after, PriceOptions(), why)
        return make_chat(self.store, apart or self.conversations, memory=remembering, **given)

    def answer(self, message: str) -> Answer:
        """The answer in a new conversation, with what the memories and turns say that it names."""
        found = self.chat().answer(message)
        texts = self.memory.texts((*found.recalled, *memories_named(found.text)))
        return replace(found, text=filled_in(found.text, texts))

    def finish(self) -> None:
        self.after.finish()

    def texts(self) -> list[str]:
        return sorted(item.text for item in self.memory.list())


@pytest.fixture
def talk(manual: EmbeddedStore, tmp_path: Path) -> Iterator[Talk]:
    path = tmp_path / "memories.sqlite"
    database = Database(path)
    memories, conversations = Memories(EmbeddedRows(database)), Conversations(EmbeddedRows(database))
    encoder = FakeEncoder()
    indexes = Indexes(memories, encoder=lambda: encoder)
    options = MemoryOptions(memory_threshold=0.3)
    turns = UserTurns(conversations, "local", encoder=lambda: encoder)
    yield Talk(UserMemory(indexes, "local", turns, options=options), conversations, manual, path)
    database.close()


def another_process(mine: UserMemory) -> UserMemory:
    """The same memory as another process has it: with an index of its own."""
    encoder = mine.indexes.encoder
    return replace(mine, indexes=Indexes(mine.indexes.memories, encoder=lambda: encoder))
