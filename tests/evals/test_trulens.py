"""Recording answers with TruLens, where it is installed; what is refused, without it."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from athena import cli, open_athena
from athena.settings import Settings
from evals.answers import evaluate_answers
from evals.trulens import METRICS, judged, open_recorder
from pipeline.errors import ConfigurationError, ModelUnavailable
from pipeline.llamaindex.llms import GivenModel
from tests.fake_llm import FakeLLM

SCORED = "Criteria: it is all there.\nSupporting Evidence: 'the fan'.\nScore: 3"


@pytest.mark.parametrize("command", [["answers", "FOLDER", "--trulens"], ["dashboard"]])
def test_without_the_extra_it_is_named(
    command: list[str], beir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.split(".")[0] == "trulens"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "trulens", None)
    words = [str(beir) if word == "FOLDER" else word for word in command]
    result = CliRunner().invoke(cli.app, ["eval", *words, "new.sqlite"])
    assert result.exit_code == 1
    assert "athena-docs[trulens]" in result.stderr
    assert not Path("new.sqlite").exists()


def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    pytest.importorskip("trulens.feedback")
    (tmp_path / "file").touch()
    with open_athena(Settings(data_dir=tmp_path / "data", llm="none")) as athena:
        opening = open_recorder(str(tmp_path / "file" / "a.sqlite"), athena, dataset="d")
        with pytest.raises(ConfigurationError, match="file/a"), opening:
            pass


def test_a_judge_that_cannot_be_asked_is_named(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", llm="none", ollama_url="http://127.0.0.1:9")
    with open_athena(settings) as athena:
        opening = open_recorder(str(tmp_path / "new.sqlite"), athena, dataset="d", judge="ollama/none")
        with pytest.raises(ModelUnavailable, match="ollama/none"), opening:
            pass
    assert not (tmp_path / "new.sqlite").exists()


def test_the_feedback_functions_of_trulens_score_an_answer() -> None:
    pytest.importorskip("trulens.feedback")
    found = judged(
        GivenModel(FakeLLM([SCORED] * 9)), "What shows the fan?", ["The fan shows OFFLINE."], "OFFLINE."
    )
    assert found == dict.fromkeys(METRICS, 1.0)


@pytest.mark.slow
def test_answers_are_recorded(beir: Path, tmp_path: Path) -> None:
    pytest.importorskip("trulens.feedback")
    database = tmp_path / "answers.sqlite"
    settings = Settings(data_dir=tmp_path / "data", llm="none", cross_encoder="none")
    with open_athena(settings) as athena:
        report = evaluate_answers(athena, beir, trulens=str(database))
    assert report.questions == 4
    with sqlite3.connect(database) as connection:
        (rows,) = connection.execute("select count(*) from trulens_events").fetchone()
        text = " ".join(map(str, connection.execute("select * from trulens_events").fetchall()))
    assert rows >= 8  # a record and its retrieval for each question
    assert "What does a broken fan show?" in text
