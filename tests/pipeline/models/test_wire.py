"""What every connection to a model shares."""

from __future__ import annotations

import contextvars
import ssl
from typing import Any

import httpx
import pytest

from pipeline.models.wire import Connections, client_options, trusted
from tests.servers import OllamaServer

OPTIONS: dict[str, Any] = {"connect_timeout_s": 1.0, "read_timeout_s": 5.0, "protocol": "whole"}


def test_a_connection_that_opens_after_the_hang_up_ends_at_once() -> None:
    connections = Connections()
    connections.hang_up()

    def ask(url: str) -> None:
        connections.watch()
        with httpx.Client(**client_options(**OPTIONS)) as client:
            client.get(url)

    with OllamaServer() as server, pytest.raises(httpx.TransportError):
        contextvars.copy_context().run(ask, f"{server.url}/api/tags")


def test_certificates_are_read_once_for_all_models(monkeypatch: pytest.MonkeyPatch) -> None:
    context, read = trusted(), []

    def note(**kwargs: object) -> ssl.SSLContext:
        read.append(kwargs)
        return context

    monkeypatch.setattr(ssl, "create_default_context", note)
    for _ in range(3):
        httpx.Client(**client_options(**OPTIONS)).close()
    assert not read
    httpx.Client().close()
    assert len(read) == 1
