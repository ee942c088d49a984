"""The corpus is indexed while a server runs: an error ends nothing, and the end waits for the ingest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.errors import StoreError
from pipeline.ingest import IngestReport
from ui.background import indexing


def athena_with(**methods: Any) -> Callable[[], Any]:
    return lambda: SimpleNamespace(settings=SimpleNamespace(corpus="docs"), **methods)


def test_an_error_is_shown_and_the_server_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    failed = threading.Event()

    def ingest(*_: object, **__: object) -> IngestReport:
        failed.set()
        raise StoreError("Another process writes.")

    served = False
    with indexing(athena_with(ingest=ingest), ingest=True, watch=False):
        assert failed.wait(10)
        served = True
    assert served
    assert "Another process writes." in caplog.text


def test_the_end_waits_until_the_ingest_has_stopped() -> None:
    begun, ended = threading.Event(), threading.Event()

    def ingest(_: object, *, should_stop: Callable[[], bool]) -> IngestReport:
        begun.set()
        while not should_stop():
            threading.Event().wait(0.01)
        ended.set()
        return IngestReport()

    with indexing(athena_with(ingest=ingest), ingest=True, watch=False):
        assert begun.wait(10)
        assert not ended.is_set()
    assert ended.is_set()
