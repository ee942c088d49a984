"""What an Athena remembers: earlier turns are caught up once, and again where that failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from athena.assistant import Athena
from athena.memory_assembly import MemoryAssembly
from athena.settings import Settings
from memory.chat import RememberingChat
from memory.keeping import Remembering
from pipeline.errors import StoreError
from pipeline.stores.embedded.memories import EmbeddedMemories
from tests.answers import answer
from tests.memory.fake_memories import FakeEncoder

USER = "local"


@pytest.fixture
def athena(tmp_path: Path) -> Iterator[Athena]:
    """One that a killed process left a turn to remember; no model is loaded."""
    athena = Athena(Settings(data_dir=tmp_path, memory="agent"))
    encoder = FakeEncoder()
    athena.models = SimpleNamespace(  # type: ignore[assignment]
        encoder=(encoder, None), language_model=lambda *_: (None, None)
    )
    id_ = athena.conversations.create(user=USER).info.id
    athena.conversations.save_turn(id_, answer("Where is Bonn?", "On the Rhine."))
    yield athena
    athena.close()


def chat(athena: Athena) -> RememberingChat:
    return athena._remembering.in_chat(USER, persona=None, private=False)


def texts(athena: Athena) -> list[str]:
    athena._remembering.finish()
    return [memory.text for memory in athena.memory.list()]


def test_what_could_not_be_caught_up_is_tried_at_the_next_chat(
    athena: Athena, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise StoreError("The disk is gone.")

    with monkeypatch.context() as patch:
        patch.setattr(type(athena.conversations), "unremembered", broken)
        chat(athena)
    chat(athena)
    assert texts(athena) == ["Where is Bonn? — On the Rhine."]


def test_a_turn_that_could_not_be_remembered_is_looked_at_in_the_next_chat(
    athena: Athena, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> int:
        raise StoreError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(Remembering, "keep", broken)
        chat(athena)
        assert texts(athena) == []
    chat(athena)
    assert texts(athena) == ["Where is Bonn? — On the Rhine."]


def test_closing_releases_everything_although_something_fails(
    athena: Athena, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[object] = []

    def broken(_: MemoryAssembly) -> None:
        raise ZeroDivisionError

    assert athena.memories is not None
    with monkeypatch.context() as patch:
        patch.setattr(MemoryAssembly, "finish", broken)
        patch.setattr(EmbeddedMemories, "close", lambda memories: closed.append(memories))
        with pytest.raises(ZeroDivisionError):
            athena.close()
    assert len(closed) == 1
