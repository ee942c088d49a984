"""Athena's client against a real Ollama with a tiny model: `scripts/servers.sh start ollama`."""

from __future__ import annotations

import os
import threading
from urllib.parse import urlsplit

import httpx
import pytest
from llama_index.core.llms import LLM

from pipeline.errors import ModelUnavailable
from pipeline.messages import Message
from pipeline.models.generation import ChatStream
from pipeline.models.llm import choose_language_model, list_language_models, ollama_model
from pipeline.options import LanguageModelOptions
from tests.server_stores import REQUIRED, is_open

URL = os.environ.get("ATHENA_TEST_OLLAMA_URL", "http://127.0.0.1:11435")
MODEL = "tiny:latest"

pytestmark = pytest.mark.server


@pytest.fixture(scope="module", autouse=True)
def _up() -> None:
    address = urlsplit(URL)
    if not is_open(address.hostname or "", address.port or 11434):
        reason = f"not up: Ollama at {URL}; `scripts/servers.sh start` starts it"
        pytest.fail(reason) if REQUIRED else pytest.skip(reason)


def model(
    *, url: str = URL, name: str = MODEL, context_window: int = 2048, max_answer_tokens: int = 64
) -> LLM:
    options = LanguageModelOptions(
        ollama_url=url,
        context_window=context_window,
        max_answer_tokens=max_answer_tokens,
        temperature=0.8,
        request_timeout_s=60.0,
    )
    return ollama_model(name, options)


def question(words: int = 3) -> list[Message]:
    text = " ".join(["the tank is open"] * words)
    return [Message("system", "Be brief."), Message("user", text)]


def test_it_is_listed_and_chosen() -> None:
    options = LanguageModelOptions(ollama_url=URL)
    assert f"ollama/{MODEL}" in list_language_models(options=options)
    for name in ("auto", "ollama/tiny", f"ollama/{MODEL}"):
        llm, choice = choose_language_model(name, options=options)
        assert llm is not None, choice
        assert choice.provider == "ollama"


def test_a_model_that_is_missing_names_the_command() -> None:
    llm, choice = choose_language_model("ollama/absent", options=LanguageModelOptions(ollama_url=URL))
    assert llm is None
    assert "ollama pull absent" in choice.fix
    with pytest.raises(ModelUnavailable, match="absent") as raised:
        list(ChatStream(model(name="absent"), question(), stop=threading.Event()))
    assert "ollama pull absent" in raised.value.fix


def test_it_streams_and_counts() -> None:
    stream = ChatStream(model(), question(), stop=threading.Event())
    pieces = list(stream)
    ended = stream.generation
    assert len(pieces) > 1
    assert ended is not None
    assert "".join(piece.text for piece in pieces) == stream.text
    assert ended.prompt_tokens and ended.answer_tokens
    assert ended.finish_reason in ("stop", "length")
    assert not ended.prompt_truncated


def test_the_longest_answer_is_kept_to_and_said() -> None:
    stream = ChatStream(model(max_answer_tokens=5), question(), stop=threading.Event())
    list(stream)
    assert stream.generation is not None
    assert stream.generation.answer_tokens is not None
    assert stream.generation.answer_tokens <= 5
    if stream.generation.finish_reason == "length":
        assert "ATHENA_MAX_ANSWER_TOKENS" in stream.generation.notice


def test_a_stop_takes_effect() -> None:
    stop = threading.Event()
    stream = ChatStream(model(max_answer_tokens=1500), question(), stop=stop)
    next(stream)
    stop.set()
    assert len(list(stream)) < 200
    assert stream.generation is not None
    assert stream.generation.finish_reason in ("stopped", "stop")


def test_a_prompt_that_is_too_long_is_noticed() -> None:
    stream = ChatStream(model(context_window=256), question(words=400), stop=threading.Event())
    list(stream)
    assert stream.generation is not None
    assert stream.generation.prompt_truncated
    assert "ATHENA_CONTEXT_WINDOW" in stream.generation.notice


def test_the_context_window_is_what_was_asked_for() -> None:
    stream = ChatStream(model(context_window=2048), question(words=60), stop=threading.Event())
    list(stream)
    assert stream.generation is not None
    assert not stream.generation.prompt_truncated
    running = httpx.get(f"{URL}/api/ps", timeout=5).json()["models"]
    assert [item["name"] for item in running] == [MODEL]
