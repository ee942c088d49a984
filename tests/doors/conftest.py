"""The API over one manual, called in this process as a program on this machine would call it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from athena import Athena, open_athena
from athena.settings import Settings
from doors import open_api
from pipeline.stores.keys import RIGHTS
from tests.fake_llm import FakeLLM

FAN = """# Cabin fan

The cabin fan moves the air. It is fed by the inverter of bus A.

## Bearings

A worn bearing makes noise. Replace the bearing every 90 days.
"""
HERE = "http://127.0.0.1:8501"


class Served:
    """The API over one Athena, and clients of it."""

    def __init__(self, athena: Athena, stack: ExitStack) -> None:
        self.athena = athena
        self.app = open_api(athena.settings, lambda: athena, page=False)
        self._stack = stack
        self._stack.enter_context(TestClient(self.app, HERE))  # runs the lifespan

    def key(self, name: str, *, rights: tuple[str, ...] = RIGHTS) -> str:
        """Store a new key of a user; return its secret."""
        return self.athena.keys.add(name, user=name, rights=rights)[1]

    def client(self, key: str = "", *, address: str = "127.0.0.1", **headers: str) -> TestClient:
        """Return a client at an address that sends a key, if one is given."""
        sent = {"Authorization": f"Bearer {key}"} if key else {}
        return TestClient(self.app, HERE, headers=sent | headers, client=(address, 50_000))


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Return a function that serves the manual with these settings, and a model if one is given."""
    with ExitStack() as stack:

        def served(*, llm: FakeLLM | None = None, **given: Any) -> Served:
            (tmp_path / "manuals").mkdir()
            (tmp_path / "manuals" / "fan.md").write_text(FAN, encoding="utf-8")
            known = {"data_dir": tmp_path / "data", "llm": "none", "doors": "all", "hyde": "off"}
            athena = stack.enter_context(open_athena(Settings(**known | given), llm=llm))
            athena.ingest([tmp_path / "manuals"])
            return Served(athena, stack)

        yield served
