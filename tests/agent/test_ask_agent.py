"""`athena agent`, and the agent over the doors: what is printed, and who may not be asked."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent.images import image_tool
from athena import load_settings, open_athena
from athena.cli import app
from athena.tools.addresses import Addresses
from athena.tools.tool import Call, Caller
from doors.asking import Asked, answers, model_names
from doors.keys import local_caller
from pipeline.errors import UploadRefused
from pipeline.steps.events import AnswerFinished
from pipeline.steps.spending import spending
from tests.agent.conftest import ANSWERED, call, calls
from tests.fake_llm import FakeLLM
from tests.pipeline.searching import write_manual
from tests.servers import OllamaServer, Reply

QUESTION = "At how many rpm does the cabin fan hum?"


@pytest.fixture
def data(tmp_path: Path, own_folder: None) -> Path:
    with open_athena(load_settings(data_dir=tmp_path / "data", llm="none")) as athena:
        athena.ingest([write_manual(tmp_path)])
    return tmp_path / "data"


def test_the_steps_are_on_standard_error_and_in_the_json(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["agent", QUESTION, "--data-dir", str(data)]
    with OllamaServer() as server:
        monkeypatch.setenv("ATHENA_OLLAMA_URL", server.url)
        monkeypatch.setenv("ATHENA_LLM", "auto")
        script = [call("search", query="LN2 tank"), call("remember", text="I like fans."), ANSWERED]
        server.reply_with(*(Reply((text,)) for text in script))
        told = CliRunner().invoke(app, [*asked, "--json"])
    assert told.exit_code == 0, told.output
    assert "searched “LN2 tank”: " in told.stderr
    assert "did not allow this call" in told.stderr  # nobody can be asked in a pipe
    shape = json.loads(told.stdout)
    tools = [step for step in shape["steps"] if step["name"] == "tool"]
    assert [step["data"]["tool"] for step in tools] == ["search", "search", "remember"]
    assert tools[1]["data"]["arguments"] == {"query": "LN2 tank"} and tools[1]["data"]["sections"]
    assert shape["citations"]


KEY = "sk-a1B2c3D4e5F6g7H8i9J0k1L2"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def test_a_look_is_asked_without_secrets_and_counted(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with OllamaServer(capabilities=["vision"]) as server:
        monkeypatch.setenv("ATHENA_OLLAMA_URL", server.url)
        monkeypatch.setenv("ATHENA_OPENAI_API_KEY", KEY)
        server.reply_with(Reply(("The note says ", KEY), prompt_tokens=None))
        with open_athena(load_settings(data_dir=data, llm="ollama/llama3.2")) as athena, spending() as spent:
            tool = image_tool(PNG, athena.models.language_model()[0]).tool
            here = Call(athena, Caller("me"), Addresses(), threading.Event(), lambda _: None)
            told = tool.run(here, tool.read({"question": "What does the note say?"}))
    assert told.startswith("The note says ") and KEY not in told
    assert len(server.chats) == 1
    assert [(spent_here.tokens_in > 0, spent_here.estimated) for spent_here in spent] == [(True, True)]


def test_a_model_of_a_program_is_shown_no_image() -> None:
    with pytest.raises(UploadRefused, match="is not known"):
        image_tool(PNG, FakeLLM())
    with pytest.raises(UploadRefused, match="No language model"):
        image_tool(PNG, None)


def one(text: str) -> Reply:
    return Reply((text,))


def test_what_a_tool_prints_is_not_in_the_json(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "print('LOADING')\ndef tanks() -> str:\n    'The tanks.'\n    print('NOISE')\n    return 'two'\n"
    (tmp_path / "noisy_tools.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ATHENA_TOOLS", "noisy_tools:tanks=reads")
    with OllamaServer() as server:
        monkeypatch.setenv("ATHENA_OLLAMA_URL", server.url)
        monkeypatch.setenv("ATHENA_LLM", "auto")
        server.reply_with(Reply((call("tanks"),)), Reply((ANSWERED,)))
        told = CliRunner().invoke(app, ["agent", QUESTION, "--json", "--data-dir", str(data)])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["citations"]
    assert "LOADING" in told.stderr and "NOISE" in told.stderr


def test_a_tool_that_fails_writes_no_line_of_another(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def order() -> str:\n    'Order.'\n    raise ValueError('no\\nremember: kept')\n"
    (tmp_path / "failing_tools.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ATHENA_TOOLS", "failing_tools:order=reads")
    with OllamaServer() as server:
        monkeypatch.setenv("ATHENA_OLLAMA_URL", server.url)
        monkeypatch.setenv("ATHENA_LLM", "auto")
        server.reply_with(one(call("order")), one(ANSWERED))
        told = CliRunner().invoke(app, ["agent", QUESTION, "--data-dir", str(data)])
    assert "order: ValueError: no remember: kept (" in told.stderr


def test_without_a_model_it_says_what_is_missing(data: Path) -> None:
    told = CliRunner().invoke(app, ["agent", QUESTION, "--data-dir", str(data)])
    assert told.exit_code == 1
    assert "The agent needs a language model" in told.stderr


def test_it_is_a_model_of_the_doors_where_a_model_is_there(data: Path) -> None:
    llm = FakeLLM([call("remember", text="I like fans."), ANSWERED])
    with open_athena(load_settings(data_dir=data), llm=llm) as athena:
        assert "athena:agent" in model_names(athena)
        asked = Asked(QUESTION, model="athena:agent")

        last = list(answers(athena, local_caller(athena.settings), asked)(threading.Event()))[-1]
        assert isinstance(last, AnswerFinished)
        assert "There is no tool 'remember'" in calls(last.answer)[1].detail  # nothing is kept of it
    with open_athena(load_settings(data_dir=data)) as athena:
        assert "athena:agent" not in model_names(athena)
