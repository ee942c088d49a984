"""Lists of models and vectors: what a server may send in one piece, and what is said of the rest."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.errors import ModelError
from pipeline.models import wire
from pipeline.models.llm import choose_language_model, list_language_models
from pipeline.models.remote_embedding import RemoteEncoder
from pipeline.options import EncoderOptions, LanguageModelOptions
from tests.model_faults import DIALECTS, PYTHON, Dialect, Line, serving

pytestmark = pytest.mark.slow

LISTS: dict[str, tuple[Any, str]] = {
    "null": (None, "null or missing where an object belongs"),
    "a list": ([], "a list where an object belongs"),
    "no list in it": ({}, "something that is not a list of models"),
    "a text for a list": ({"models": "a", "data": "a"}, "something that is not a list of models"),
    "rows that are texts": ({"models": ["a"], "data": ["a"]}, "something that is not a list of models"),
    "rows without names": ({"models": [{}], "data": [{}]}, "something that is not a list of models"),
    "an error": ({"error": "no such thing"}, "no such thing"),
    "an error that is a number": ({"error": 5}, "an error without words"),
}


def answering(value: Any) -> Callable[[Line], None]:
    def serve(line: Line) -> None:
        line.head(kind="application/json")
        line.raw(json.dumps(value).encode())

    return serve


def _not_utf8(line: Line) -> None:
    line.head(kind="application/json")
    line.raw(b'{"models": "\xff"}')


def _page(line: Line) -> None:
    line.head(kind="text/html")
    line.raw(b"<html></html>")


def _compressed(line: Line) -> None:
    line.head("Content-Encoding: gzip", kind="application/json")


def _elsewhere(line: Line) -> None:
    line.head("Location: http://127.0.0.2:9/", "Content-Length: 0", status="307 Temporary Redirect")


def _endless(line: Line) -> None:
    line.head(kind="application/json")
    while True:
        line.raw(b" " * 100_000)


def _slow(line: Line) -> None:
    line.head(kind="application/json")
    while True:
        line.raw(b" ")
        time.sleep(0.02)


def _slow_head(line: Line) -> None:
    line.raw(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        line.raw(b"s")
        time.sleep(0.02)


OTHERS: dict[str, tuple[Callable[[Line], None], str]] = {
    "not UTF-8": (_not_utf8, "not UTF-8|makes no sense"),
    "a web page": (_page, "a web page, not a model's answer"),
    "compressed": (_compressed, "compressed"),
    "a redirect to another host": (_elsewhere, "wants the request to go to http://127.0.0.2:9/"),
    "without an end": (_endless, "more than 1 MB without an end"),
    "one byte at a time": (_slow, "was not done within|sent nothing for|half a line of JSON"),
    "a head one byte at a time": (_slow_head, "was not done within|sent nothing for|half a line of JSON"),
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 1_000_000)


def patience_s(serve: Callable[[Line], None]) -> float:
    """Short where nothing else would end it."""
    return 0.5 if serve in (_slow, _slow_head) else 20.0


def said_of_a_list(serve: Callable[[Line], None], dialect: Dialect) -> str:
    with serving(serve, dialect) as url:
        urls = {"ollama_url": url} if dialect == "ollama" else {"openai_base_url": url}
        given = {"ollama_url": "http://127.0.0.1:9", **urls}
        options = LanguageModelOptions(**given, connect_timeout_s=patience_s(serve))
        name = "ollama/m" if dialect == "ollama" else "openai/m"
        llm, choice = choose_language_model(name, options=options)
    assert llm is None
    return choice.detail


def said_of_vectors(serve: Callable[[Line], None], dialect: Dialect) -> str:
    with serving(serve, dialect) as url:
        options = EncoderOptions(ollama_url=url, openai_base_url=url, request_timeout_s=0.5)
        encoder = RemoteEncoder(dialect, "m", options=options)
        with pytest.raises(ModelError) as raised:
            encoder.encode_query("a")
    return str(raised.value)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("value", "says"), LISTS.values(), ids=LISTS)
def test_a_list_of_models(value: Any, says: str, dialect: Dialect) -> None:
    told = said_of_a_list(answering(value), dialect)
    assert says in told, told
    assert not PYTHON.search(told)


@pytest.mark.parametrize("told_by", [said_of_a_list, said_of_vectors])
@pytest.mark.parametrize(("serve", "says"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_answer(
    serve: Callable[[Line], None], says: str, told_by: Callable[[Callable[[Line], None], Dialect], str]
) -> None:
    told = told_by(serve, "ollama")
    assert any(words in told for words in says.split("|")), told
    assert not PYTHON.search(told)


def test_names_that_no_page_can_show_are_left_out() -> None:
    names = ["good", "a\x1b[2Jb", "x" * 5000, 7]
    with serving(answering({"models": [{"name": name} for name in names]}), "ollama") as url:
        assert list_language_models(options=LanguageModelOptions(ollama_url=url)) == ["ollama/good", "none"]
