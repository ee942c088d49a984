"""What a server watches: the uploads, and the corpus where one is set; it says so where none is."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from athena.settings import Settings
from ui.watched import watched


@pytest.mark.parametrize("named", [False, True])
def test_it_says_where_the_uploads_alone_are_watched(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, named: bool
) -> None:
    caplog.set_level("INFO")
    seen: list[Sequence[Path]] = []

    class Watching:
        def watch(self, folders: Sequence[Path], *, stop: threading.Event, **_: object) -> None:
            seen.append(folders)
            stop.wait(10)

    athena: Any = Watching()
    given: dict[str, Any] = {"corpus": tmp_path / "manuals"} if named else {}
    with watched(Settings(data_dir=tmp_path, watch=True, **given), lambda: athena, ingest=False):
        pass
    assert seen == [[tmp_path / "uploads", *([tmp_path / "manuals"] if named else [])]]
    assert ("The uploads alone are watched" in caplog.text) != named
