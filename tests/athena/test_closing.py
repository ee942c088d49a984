"""Closing releases everything, also where a step fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from athena import open_athena
from athena.settings import Settings
from pipeline.stores.embedded.memories import EmbeddedMemories


def test_closing_releases_everything_although_something_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    athena = open_athena(Settings(data_dir=tmp_path))
    closed: list[object] = []

    def broken() -> None:
        raise ZeroDivisionError

    assert athena.memories is not None
    with monkeypatch.context() as patch:
        patch.setattr(athena, "finish", broken)
        patch.setattr(EmbeddedMemories, "close", lambda memories: closed.append(memories))
        with pytest.raises(ZeroDivisionError):
            athena.close()
    assert len(closed) == 1
