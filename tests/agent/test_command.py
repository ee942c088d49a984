"""`athena agent`: calls on standard error, the answer on standard output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from athena import load_settings, open_athena
from athena.cli import app
from tests.agent.conftest import ANSWERED, QUESTION, call
from tests.pipeline.searching import write_manual
from tests.servers import OllamaServer, Reply


@pytest.fixture
def data(tmp_path: Path, own_folder: None) -> Path:
    with open_athena(load_settings(data_dir=tmp_path / "data", llm="none")) as athena:
        athena.ingest([write_manual(tmp_path)])
    return tmp_path / "data"


def test_calls_are_in_the_json(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with OllamaServer() as server:
        monkeypatch.setenv("ATHENA_OLLAMA_URL", server.url)
        monkeypatch.setenv("ATHENA_LLM", "auto")
        rewritten = json.dumps({"queries": [QUESTION]})
        calls = call("search", query="LN2 tank"), call("remember", text="I like fans.")
        script = [rewritten, *calls, ANSWERED]
        server.reply_with(*(Reply((text,)) for text in script))
        printed = CliRunner().invoke(app, ["agent", QUESTION, "--data-dir", str(data), "--json"])
    assert printed.exit_code == 0, printed.output
    shape = json.loads(printed.stdout)
    made = [step for step in shape["steps"] if step["name"] == "tool"]
    assert [step["data"]["tool"] for step in made] == ["search", "search", "remember"]
    assert "did not allow" in made[-1]["detail"]  # nobody can be asked in a pipe
    assert shape["citations"]


def test_without_a_model_it_says_what_is_missing(data: Path) -> None:
    printed = CliRunner().invoke(app, ["agent", QUESTION, "--data-dir", str(data)])
    assert printed.exit_code == 1
    assert "language model" in printed.stderr
