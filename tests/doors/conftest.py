"""Doors that are served over real sockets, by a server in a thread of this process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from athena import Athena, open_athena
from athena.models import Models
from athena.settings import Settings
from pipeline.models.base import ModelChoice
from pipeline.stores.keys import RIGHTS, new_key
from tests.fake_llm import FakeLLM
from ui.launch import doors_alone

FAN = """# Cabin fan

The cabin fan moves the air. It is fed by the inverter of bus A.

## Bearings

A worn bearing makes noise. Replace the bearing every 90 days.
"""
LANDED = 5.0  # seconds that a server may take to start

ASKED = {"messages": [{"role": "user", "content": "What feeds the cabin fan?"}]}


class Served:
    """One server, and clients of it."""

    def __init__(self, athena: Athena, address: str, stack: ExitStack) -> None:
        self.athena = athena
        self.address = address
        self._stack = stack

    def key(self, name: str, *, user: str = "", rights: tuple[str, ...] = RIGHTS) -> str:
        """A new key of a user, by default of that name."""
        key, secret = new_key(name, user=user or name, rights=rights)
        self.athena.keys.add(key)
        return secret

    def client(self, key: str = "", **given: Any) -> httpx.Client:
        """Sends requests with a key, if one is given."""
        headers = ({"Authorization": f"Bearer {key}"} if key else {}) | given.pop("headers", {})
        client = httpx.Client(base_url=self.address, headers=headers, timeout=60, trust_env=False, **given)
        return self._stack.enter_context(client)


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Serves doors over one manual, with these settings and a model if one is given."""
    with ExitStack() as stack:

        def served(*, llm: FakeLLM | None = None, **given: Any) -> Served:
            (tmp_path / "manuals").mkdir()
            (tmp_path / "manuals" / "fan.md").write_text(FAN, encoding="utf-8")
            settings = Settings(
                **{"data_dir": tmp_path / "data", "llm": "none", "cross_encoder": "none", "doors": "all",
                   "corpus": tmp_path / "manuals", "hyde": "off"} | given
            )  # fmt: skip
            athena = open_athena(settings)
            stack.callback(athena.close)
            athena.ingest([tmp_path / "manuals"])
            if llm is not None:
                choice = ModelChoice("language model", "fake", "local", "here")
                monkeypatch.setattr(Models, "language_model", lambda *_: (llm, choice))
            return Served(athena, stack.enter_context(_server(athena)), stack)

        yield served


@contextmanager
def _server(athena: Athena) -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(256)
        config = uvicorn.Config(doors_alone(athena), log_level="warning")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        deadline = time.monotonic() + LANDED
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def message(response: httpx.Response) -> str:
    return str(response.json()["error"]["message"])
