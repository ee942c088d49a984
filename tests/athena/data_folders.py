"""A data folder with a small manual, and Athena over it with an encoder that costs nothing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from athena import Athena, open_athena
from athena.settings import Settings
from pipeline.models.base import ModelChoice
from tests.fakes import FakeEncoder
from tests.pipeline.searching import write_manual

GOOD = ModelChoice("embedding", "fake", "bundled", "on disk")


def open_data(folder: Path, **given: Any) -> Athena:
    """Athena over `folder`'s data folder; settings may be given."""
    known = {"data_dir": folder / "data", "llm": "none", "cross_encoder": "none"}
    return open_athena(Settings(**known | given), encoder=FakeEncoder())


def prepare(folder: Path) -> None:
    """Index the small manual, and ask a question."""
    with closing(open_data(folder)) as athena:
        athena.ingest([write_manual(folder)])
        list(athena.chat().run("What does a broken fan show?"))
