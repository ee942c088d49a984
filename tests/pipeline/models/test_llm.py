"""The choice of a language model, against servers that are there, are not, or say no; and getting one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.errors import ConfigurationError, ModelError
from pipeline.models.clients import OllamaModel
from pipeline.models.generation import complete
from pipeline.models.llm import choose_language_model, list_language_models, pull_model
from pipeline.options import LanguageModelOptions
from tests.scripted_server import ScriptedServer, Sent, lines, said

NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing listens
KEY = "sk-9f8e7d6c5b4a/39"
NO_CHAT = (
    "nomic-embed-text:latest", "all-minilm:33m", "bge-m3:latest", "bge-reranker-v2-m3", "jina-reranker-v2",
    "BAAI/bge-large-en", "intfloat/multilingual-e5-large", "mxbai-embed-large", "text-embedding-3-small",
    "whisper-1", "tts-1",
)  # fmt: skip


def tags(*names: str) -> Sent:
    """Ollama's list of models."""
    return Sent((json.dumps({"models": [{"name": name} for name in names]}).encode(),))


def models(*names: str) -> Sent:
    """The list of a compatible server."""
    return Sent((json.dumps({"data": [{"id": name} for name in names]}).encode(),))


def options(**given: Any) -> LanguageModelOptions:
    return LanguageModelOptions(**{"ollama_url": NOWHERE, **given})


def test_auto_takes_ollamas_first_chat_model_also_where_there_is_a_key() -> None:
    with ScriptedServer(tags(*NO_CHAT, "llama3.2:latest", "qwen3:8b")) as server:
        given = options(ollama_url=server.url, openai_api_key=KEY)
        llm, choice = choose_language_model("auto", options=given)
    assert (choice.role, choice.name) == ("language model", "ollama/llama3.2:latest")
    assert server.url in choice.detail
    assert isinstance(llm, OllamaModel) and llm.options.context_window == 8192


def test_auto_takes_a_compatible_servers_first_chat_model() -> None:
    with ScriptedServer(models(*NO_CHAT, "small-chat"), Sent(said("fine"))) as server:
        given = options(openai_base_url=f"{server.url}/v1/", openai_api_key=KEY)
        llm, choice = choose_language_model("auto", options=given)
        assert llm is not None and complete(llm, "hello", timeout_s=20) == "fine"
    assert choice.name == "openai/small-chat"
    assert f"{server.url}/v1" in choice.detail
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("name", NO_CHAT)
def test_a_model_that_cannot_chat_is_never_chosen(name: str) -> None:
    with ScriptedServer(tags(name)) as server:
        for wanted in ("auto", f"ollama/{name}", f"openai/{name}"):
            given = options(
                ollama_url=server.url, openai_base_url=f"{server.url}/v1" if "openai" in wanted else ""
            )
            llm, choice = choose_language_model(wanted, options=given)
            assert llm is None and choice.detail and choice.fix


def test_auto_without_anything_says_how_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.models.llm.OLLAMA_URL", NOWHERE)  # as where no setting names one
    llm, choice = choose_language_model("auto", options=options())
    assert llm is None and not choice.wrong
    assert NOWHERE in choice.detail
    assert "ollama pull" in choice.fix and "ATHENA_OPENAI_API_KEY" in choice.fix


@pytest.mark.parametrize("name", ["ollama/qwen3:8b", "ollama/llama3.2", "ollama/llama3.2:latest"])
def test_a_model_of_ollama_is_named_with_or_without_its_tag(name: str) -> None:
    with ScriptedServer(tags("llama3.2:latest", "qwen3:8b")) as server:
        llm, choice = choose_language_model(name, options=options(ollama_url=server.url))
    assert llm is not None and choice.name == name


@pytest.mark.parametrize("status", [404, 405, 500, 501])
def test_a_server_without_a_list_serves_a_model_that_is_named(status: int) -> None:
    with ScriptedServer(Sent(status=status)) as server:
        llm, choice = choose_language_model("openai/m", options=options(openai_base_url=f"{server.url}/v1"))
        auto, why = choose_language_model("auto", options=options(openai_base_url=f"{server.url}/v1"))
    assert llm is not None and choice.name == "openai/m"
    assert auto is None and why.wrong


@pytest.mark.parametrize(
    ("name", "given", "detail", "fix"),
    [
        ("none", {}, "ATHENA_LLM", "ATHENA_LLM=auto"),
        ("ollama/mistral", {}, NOWHERE, "ollama serve"),
        ("openai/gpt-x", {}, "needs a key", "ATHENA_OPENAI_API_KEY"),
        ("openai/gpt-x", {"openai_base_url": NOWHERE}, NOWHERE, "ATHENA_OPENAI_BASE_URL"),
        ("auto", {"openai_base_url": NOWHERE}, NOWHERE, "ATHENA_OPENAI_BASE_URL"),
        ("auto", {"ollama_url": "localhost:11434"}, "localhost:11434", "ATHENA_OLLAMA_URL"),
        ("ollama/m", {"ollama_url": "http://[::1"}, "Cannot reach", "ATHENA_OLLAMA_URL"),
        ("ollama/m", {"ollama_url": f"http://me:{KEY}@127.0.0.1:9"}, "Cannot reach", "ollama serve"),
    ],
)
def test_a_missing_server_is_a_reason_and_a_command(
    name: str, given: dict[str, str], detail: str, fix: str
) -> None:
    llm, choice = choose_language_model(name, options=options(**given))
    assert llm is None
    assert detail in choice.detail and fix in choice.fix
    assert KEY not in repr(choice)


def test_a_missing_model_a_wrong_key_and_a_silent_server_have_their_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipeline.models.failures.CONNECT_S", 0.3)
    with ScriptedServer(tags("llama3.2")) as server:
        _, choice = choose_language_model("ollama/mistral", options=options(ollama_url=server.url))
        assert "`ollama pull mistral`" in choice.fix
    with ScriptedServer(Sent(status=401)) as server:
        given = options(openai_base_url=f"{server.url}/v1", openai_api_key=KEY)
        assert "ATHENA_OPENAI_API_KEY" in choose_language_model("openai/m", options=given)[1].fix
    with ScriptedServer(Sent(before_headers=3.0)) as server:
        given = options(ollama_url=server.url)
        assert "sent nothing" in choose_language_model("ollama/m", options=given)[1].detail


@pytest.mark.parametrize("name", ["", "gpt-4", "ollama/", "ollama", "auto/x", "none/x"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="ATHENA_LLM"):
        choose_language_model(name, options=options())


def test_the_picker_lists_all_chat_models() -> None:
    with ScriptedServer(tags("llama3.2", *NO_CHAT)) as ollama, ScriptedServer(models("a", "b")) as other:
        given = options(ollama_url=ollama.url, openai_base_url=f"{other.url}/v1")
        assert list_language_models(options=given) == ["ollama/llama3.2", "openai/a", "openai/b", "none"]
    assert list_language_models(options=options()) == ["none"]


def pulled(server: ScriptedServer) -> list[tuple[str, int, int]]:
    return list(pull_model("tiny", url=server.url))


def test_a_pull_yields_the_sum_of_its_parts() -> None:
    part = {"status": "pulling", "digest": "a", "total": 10, "completed": 4}
    other = {"status": "pulling", "digest": "b", "total": 5, "completed": 5}
    with ScriptedServer(Sent(lines({"status": "manifest"}, part, other, {"status": "success"}))) as server:
        progress = pulled(server)
    assert [now[1:] for now in progress] == [(0, 0), (4, 10), (9, 15), (9, 15)]
    assert progress[-1][0] == "success"


@pytest.mark.parametrize(
    "body", [lines({"error": "no such manifest"}), lines({"status": "pulling"}), (b"<html>",)]
)
def test_a_pull_that_fails_names_model_and_server(body: tuple[bytes, ...]) -> None:
    with ScriptedServer(Sent(body)) as server, pytest.raises(ModelError, match="tiny") as raised:
        pulled(server)
    assert server.url in str(raised.value) and raised.value.fix
    with pytest.raises(ModelError, match="Cannot reach"):
        pulled(server)
