"""The choice of a language model, against servers that are there, are not, or say no."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from pipeline.errors import ConfigurationError
from pipeline.models.llm import (
    DEFAULT_OPENAI_MODEL,
    choose_language_model,
    list_language_models,
)
from pipeline.options import LanguageModelOptions
from tests.servers import OllamaServer, OpenAIServer, Reply

NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing listens


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    models = ["nomic-embed-text:latest", "all-minilm:33m", "llama3.2:latest", "qwen3:8b", "bge-m3:latest"]
    with OllamaServer(models=models) as server:
        yield server


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with OpenAIServer(models=["text-embedding-3-small", "small-chat"], key="sk-right") as server:
        yield server


def test_auto_takes_ollamas_first_chat_model_also_where_there_is_a_key(ollama: OllamaServer) -> None:
    options = LanguageModelOptions(ollama_url=ollama.url, openai_api_key="sk-x")
    llm, choice = choose_language_model("auto", options=options)
    assert (choice.role, choice.name, choice.provider) == (
        "language model",
        "ollama/llama3.2:latest",
        "ollama",
    )
    assert ollama.url in choice.detail
    assert llm is not None
    assert llm.metadata.model_name == "llama3.2:latest"
    assert llm.metadata.context_window == 8192


def test_auto_falls_back_to_the_key() -> None:
    options = LanguageModelOptions(ollama_url=NOWHERE, openai_api_key="sk-x")
    llm, choice = choose_language_model("auto", options=options)
    assert llm is not None
    assert (choice.name, choice.provider) == (f"openai/{DEFAULT_OPENAI_MODEL}", "openai")
    assert "sk-x" not in repr(choice)


def test_auto_takes_a_key_where_ollama_has_only_embedding_models() -> None:
    with OllamaServer(models=["nomic-embed-text:latest"]) as server:
        options = LanguageModelOptions(ollama_url=server.url, openai_api_key="sk-x")
        assert choose_language_model("auto", options=options)[1].provider == "openai"
        _, choice = choose_language_model("auto", options=LanguageModelOptions(ollama_url=server.url))
    assert "has no chat model" in choice.detail


def test_auto_takes_the_compatible_servers_first_chat_model(openai: OpenAIServer) -> None:
    options = LanguageModelOptions(
        ollama_url=NOWHERE, openai_base_url=f"{openai.base_url}/", openai_api_key="sk-right"
    )
    llm, choice = choose_language_model("auto", options=options)
    assert llm is not None
    assert (choice.name, choice.detail) == ("openai/small-chat", f"by {openai.base_url}")
    openai.reply_with(Reply(["fine"]))
    assert llm.complete("hello").text == "fine"


def test_auto_without_anything_says_how_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.models.llm.OLLAMA_URL", NOWHERE)  # as where no setting names one
    llm, choice = choose_language_model("auto", options=LanguageModelOptions(ollama_url=NOWHERE))
    assert llm is None
    assert (choice.name, choice.provider) == ("", "none")
    assert f"Cannot reach Ollama at {NOWHERE}" in choice.detail
    assert "ollama pull" in choice.fix
    assert "ATHENA_OPENAI_API_KEY" in choice.fix
    assert not choice.wrong


@pytest.mark.parametrize("name", ["auto", "openai/m"])
def test_a_server_that_a_setting_names_is_said_to_be_wrong_or_down(name: str) -> None:
    options = LanguageModelOptions(openai_base_url=NOWHERE)
    llm, choice = choose_language_model(name, options=options)
    assert llm is None
    assert f"Cannot reach the OpenAI-compatible server at {NOWHERE}" in choice.detail
    assert choice.fix == "Start that server, or correct ATHENA_OPENAI_BASE_URL."
    assert choice.wrong


def test_an_address_without_a_list_of_models_is_wrong(openai: OpenAIServer) -> None:
    options = LanguageModelOptions(openai_base_url=f"{openai.base_url}/nowhere", openai_api_key="sk-right")
    _, choice = choose_language_model("auto", options=options)
    assert "has no list of models (HTTP 404)" in choice.detail
    assert "correct ATHENA_OPENAI_BASE_URL" in choice.fix


def test_none_is_none(ollama: OllamaServer) -> None:
    llm, choice = choose_language_model("none", options=LanguageModelOptions(ollama_url=ollama.url))
    assert (llm, choice.provider) == (None, "none")
    assert ollama.requests == []


@pytest.mark.parametrize(
    "name", ["ollama/qwen3:8b", "ollama/llama3.2", "ollama/llama3.2:latest", "openai/small-chat"]
)
def test_a_named_model(ollama: OllamaServer, openai: OpenAIServer, name: str) -> None:
    options = LanguageModelOptions(
        ollama_url=ollama.url, openai_base_url=openai.base_url, openai_api_key="sk-right"
    )
    llm, choice = choose_language_model(name, options=options)
    assert llm is not None
    assert choice.name == name


@pytest.mark.parametrize(
    ("name", "given", "detail", "fix"),
    [
        ("ollama/mistral", {}, "does not have the model 'mistral'", "Get it with `ollama pull mistral`."),
        (
            "ollama/mistral",
            {"ollama_url": NOWHERE},
            f"Cannot reach Ollama at {NOWHERE}",
            "ollama serve",
        ),
        ("openai/gpt-x", {"openai_base_url": ""}, "needs a key", "ATHENA_OPENAI_API_KEY"),
        ("openai/gpt-x", {"openai_base_url": NOWHERE}, NOWHERE, "ATHENA_OPENAI_BASE_URL"),
        ("auto", {"ollama_url": NOWHERE, "openai_api_key": "sk-wrong"}, "refused the key (HTTP 401)", ""),
        (
            "auto",
            {"ollama_url": "localhost:11434", "openai_base_url": ""},
            "Cannot reach Ollama at localhost:11434",
            "",
        ),
    ],
)
def test_a_missing_model_is_a_reason_and_a_command(
    ollama: OllamaServer, openai: OpenAIServer, name: str, given: dict[str, str], detail: str, fix: str
) -> None:
    urls = {"ollama_url": ollama.url, "openai_base_url": openai.base_url}
    llm, choice = choose_language_model(name, options=LanguageModelOptions(**{**urls, **given}))
    assert llm is None
    assert detail in choice.detail
    assert fix in choice.fix


def test_an_openai_model_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_index.llms.openai_like", None)
    llm, choice = choose_language_model("openai/gpt-x", options=LanguageModelOptions(openai_api_key="sk-x"))
    assert llm is None
    assert "pip install 'athena-docs[openai]'" in choice.fix


@pytest.mark.parametrize("name", ["", "gpt-4", "ollama/", "ollama", "auto/x", "none/x"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="ATHENA_LLM"):
        choose_language_model(name, options=LanguageModelOptions(ollama_url=NOWHERE))


@pytest.mark.parametrize("url", ["http://[::1", "http://[zz]/", "http://127.0.0.1:x"])
@pytest.mark.parametrize(("name", "option"), [("ollama/m", "ollama_url"), ("openai/m", "openai_base_url")])
def test_an_address_that_is_none_is_a_server_that_cannot_be_reached(name: str, option: str, url: str) -> None:
    options = LanguageModelOptions(**{"openai_api_key": "sk-x", option: url})
    llm, choice = choose_language_model(name, options=options)
    assert llm is None
    assert "Cannot reach" in choice.detail
    assert f"ATHENA_{option.upper()}" in choice.fix


def test_a_silent_server_costs_no_more_than_the_connect_timeout(ollama: OllamaServer) -> None:
    ollama.stalled_paths.add("/api/tags")
    options = LanguageModelOptions(ollama_url=ollama.url, connect_timeout_s=0.3)
    _, choice = choose_language_model("auto", options=options)
    assert "sent nothing for 0.3 s" in choice.detail


def test_the_picker_lists_all_chat_models(ollama: OllamaServer, openai: OpenAIServer) -> None:
    options = LanguageModelOptions(
        ollama_url=ollama.url, openai_base_url=openai.base_url, openai_api_key="sk-right"
    )
    assert list_language_models(options=options) == [
        "ollama/llama3.2:latest",
        "ollama/qwen3:8b",
        "openai/small-chat",
        "none",
    ]


def test_the_picker_without_anything_has_none() -> None:
    assert list_language_models(options=LanguageModelOptions(ollama_url=NOWHERE)) == ["none"]
