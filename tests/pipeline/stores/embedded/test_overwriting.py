"""Forgotten words in stored turns: nobody waits meanwhile, and nothing that comes is missed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.memories import EmbeddedMemories, Overwriting
from pipeline.stores.erasing import Erasing
from pipeline.stores.memories import MemoryChanges
from tests.contracts.test_conversations import answer

SECRET = "the code is 48151623"


def test_others_write_while_turns_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "athena.sqlite"
    with closing(EmbeddedMemories(path)) as memories, closing(EmbeddedConversations(path)) as conversations:
        id_ = conversations.create().info.id
        conversations.save_turn(id_, answer("Hello?", "Hello."))
        conversations.save_turn(id_, answer(f"Remember that {SECRET}.", "Yes."))
        look, free = Erasing.is_in, []

        def looked_at(words: Erasing, text: str) -> bool:
            with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
                try:
                    other.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError:
                    free.append(False)
                else:
                    free.append(True)
            if len(free) == 1:
                conversations.save_turn(id_, answer(f"Is it so that {SECRET}?", f"{SECRET}."))
            return look(words, text)

        monkeypatch.setattr(Erasing, "is_in", looked_at)
        memories.forget("local", MemoryChanges(), words=[SECRET])
        assert all(free)
        assert "48151623" not in repr(conversations.get(id_))


def test_what_comes_after_they_were_looked_at_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "athena.sqlite"
    with closing(EmbeddedMemories(path)) as memories, closing(EmbeddedConversations(path)) as conversations:
        id_ = conversations.create().info.id
        turn = conversations.save_turn(id_, answer("Hello?", "Hello."))
        look = Overwriting.look

        def then_written(overwriting: Overwriting, connection: sqlite3.Connection) -> None:
            look(overwriting, connection)
            conversations.set_feedback(turn, -1, f"Wrong: {SECRET}")
            other = conversations.create().info.id
            conversations.save_turn(other, answer(f"And {SECRET}?", "No."))

        monkeypatch.setattr(Overwriting, "look", then_written)
        memories.forget("local", MemoryChanges(), words=[SECRET])
        stored = [conversations.get(info.id) for info in conversations.list()]
        assert len(stored) == 2
        assert "48151623" not in repr(stored)
