"""A user's memory over a store in the process; time stands still until a test moves it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest

from memory.index import Indexes
from memory.keeping import Said, keep
from memory.options import MemoryOptions
from memory.turns import UserTurns
from memory.user_memory import UserMemory
from pipeline.stores.private import PrivateConversations
from tests.memory.fake_memories import FakeEncoder, FakeMemories, FakeModel
from tests.memory.talks import talk
from tests.pipeline.conftest import manual

__all__ = ["manual", "talk"]

MARCH = 1_772_323_200.0  # 2026-03-01
DAY = 86_400.0


@dataclass
class Clock:
    """A time that tests set."""

    at: float = MARCH

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memories() -> FakeMemories:
    return FakeMemories()


@pytest.fixture
def mine(memories: FakeMemories, clock: Clock) -> UserMemory:
    """The memory of "local", of the default preset."""
    encoder = FakeEncoder()
    return UserMemory(
        Indexes(memories, encoder=lambda: encoder),
        "local",
        UserTurns(PrivateConversations(), "local", encoder=lambda: encoder),
        options=MemoryOptions(memory_threshold=0.3),
        clock=clock,
    )


def with_preset(mine: UserMemory, preset: str) -> UserMemory:
    """The same memory under another preset."""
    return replace(mine, options=mine.options.but(memory=preset))


def with_model(
    mine: UserMemory, *replies: str | Exception, preset: str = "agent"
) -> tuple[UserMemory, FakeModel]:
    """The same memory with a language model that gives these replies, and the model."""
    model = FakeModel(*replies)
    return replace(with_preset(mine, preset), find_model=lambda: model), model


def reply(*statements: dict[str, object], **found: object) -> str:
    """A model's reply with these statements, and entities and relations."""
    return json.dumps({"statements": statements, "entities": [], "relations": []} | found)


def stated(
    text: str, subject: str = "user", predicate: str = "", thing: str = "", importance: int = 5
) -> dict[str, object]:
    """One statement of a model's reply."""
    row = {"text": text, "subject": subject, "predicate": predicate, "object": thing}
    return row | {"importance": importance, "reason": "it matters"}


def say(mine: UserMemory, message: str, **given: object) -> list[str]:
    """Have a message remembered; the texts of all live memories."""
    keep(mine, Said(message=message, at=mine.clock(), **given))  # type: ignore[arg-type]
    return [item.text for item in mine.list()]
