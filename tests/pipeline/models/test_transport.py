"""What every connection to a model shares."""

from __future__ import annotations

import ssl

import httpx
import pytest

from pipeline.models.llm import list_language_models
from pipeline.models.transport import HangUpTransport, trusted
from pipeline.options import LanguageModelOptions


def test_certificates_are_read_once_for_all_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    context, read = trusted(), []

    def note(**kwargs: object) -> ssl.SSLContext:
        read.append(kwargs)
        return context

    monkeypatch.setattr(ssl, "create_default_context", note)
    for _ in range(3):
        HangUpTransport(connect_timeout_s=1, read_timeout_s=1).close()
    assert not read
    httpx.HTTPTransport().close()
    assert len(read) == 1  # what each answer did before


def test_listing_models_reads_no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def refuse(url: str, *, verify: object, **_: object) -> httpx.Response:
        given.append(verify)
        raise httpx.ConnectError("nobody there")

    monkeypatch.setattr(httpx, "get", refuse)
    assert list_language_models(options=LanguageModelOptions(ollama_url="http://nobody.test:9")) == ["none"]
    assert given == [trusted()]
