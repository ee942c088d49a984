"""The memory of an Athena is released when it closes."""

from __future__ import annotations

from pathlib import Path

import pytest

from athena.assistant import Athena
from athena.memory_assembly import MemoryAssembly
from athena.settings import Settings
from pipeline.stores.embedded.memories import EmbeddedMemories


def test_closing_releases_everything_although_something_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[object] = []

    def broken(_: MemoryAssembly) -> None:
        raise ZeroDivisionError

    athena = Athena(Settings(data_dir=tmp_path))
    assert athena.memories is not None
    with monkeypatch.context() as patch:
        patch.setattr(MemoryAssembly, "finish", broken)
        patch.setattr(EmbeddedMemories, "close", lambda memories: closed.append(memories))
        with pytest.raises(ZeroDivisionError):
            athena.close()
    athena.close()
    assert len(closed) == 1
