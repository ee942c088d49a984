"""Athena's client against a real Ollama with a tiny model: `scripts/servers.sh start ollama`."""

from __future__ import annotations

import os
import threading
from urllib.parse import urlsplit

import pytest

from pipeline.answer import Message
from pipeline.errors import ModelUnavailable
from pipeline.models.clients import OllamaModel
from pipeline.models.failures import Server
from pipeline.models.generation import ChatStream, complete
from pipeline.models.llm import choose_language_model
from pipeline.options import LanguageModelOptions
from tests.server_stores import REQUIRED, is_open

URL = os.environ.get("ATHENA_TEST_OLLAMA_URL", "http://127.0.0.1:11435")

pytestmark = pytest.mark.server


@pytest.fixture(scope="module", autouse=True)
def _up() -> None:
    address = urlsplit(URL)
    if not is_open(address.hostname or "", address.port or 11434):
        reason = f"not up: Ollama at {URL}; `scripts/servers.sh start` starts it"
        pytest.fail(reason) if REQUIRED else pytest.skip(reason)


def model(name: str, options: LanguageModelOptions) -> OllamaModel:
    return OllamaModel(Server("ollama", URL, name, 60.0), options)


def stream_of(*, name: str = "tiny", longest: int = 64) -> ChatStream:
    options = LanguageModelOptions(ollama_url=URL, context_window=2048, max_answer_tokens=longest)
    asked = [Message("system", "Be brief."), Message("user", "The tank is open.")]
    return ChatStream(model(name, options), asked, stop=threading.Event())


@pytest.mark.parametrize("name", ["auto", "ollama/tiny", "ollama/tiny:latest"])
def test_it_is_listed_and_chosen(name: str) -> None:
    llm, choice = choose_language_model(name, options=LanguageModelOptions(ollama_url=URL))
    assert llm is not None and choice.provider == "ollama"


def test_a_model_that_is_missing_names_the_command() -> None:
    with pytest.raises(ModelUnavailable, match="absent") as raised:
        list(stream_of(name="absent"))
    assert "ollama pull absent" in raised.value.fix


def test_it_streams_counts_and_keeps_to_the_longest_answer() -> None:
    stream = stream_of(longest=5)
    assert "".join(piece.text for piece in stream) == stream.text
    ended = stream.end
    assert ended.prompt_tokens
    assert ended.answer_tokens is not None and ended.answer_tokens <= 5


def test_a_hang_up_ends_a_long_answer() -> None:
    stream = stream_of(longest=1500)
    next(stream)
    stream.close()
    assert list(stream) == []


def test_it_keeps_to_a_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    llm = model("tiny", LanguageModelOptions(ollama_url=URL, max_answer_tokens=20))
    assert complete(llm, "One number.", timeout_s=60, json_schema=schema).startswith("{")
