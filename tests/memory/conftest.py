"""A user's memory over a store in the process; time stands still until a test moves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from memory.index import Indexes
from memory.options import MemoryOptions
from memory.turns import UserTurns
from memory.user_memory import UserMemory
from pipeline.answer import Answer, Mode
from pipeline.stores.conversations import Turn
from pipeline.stores.private import PrivateConversations
from tests.memory.fake_memories import FakeEncoder, FakeMemories
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


def turn_of(
    question: str,
    *,
    turn_id: str,
    text: str = "",
    mode: Mode = "quote",
    recalled: Sequence[str] = (),
    at: float = 0.0,
) -> Turn:
    """A turn of a conversation."""
    answer = Answer(
        question=question,
        condensed_question=question,
        text=text,
        mode=mode,
        model="",
        abstained=False,
        turn_id=turn_id,
        recalled=tuple(recalled),
    )
    return Turn(id=turn_id, question=question, answer=answer, created_at=at)
