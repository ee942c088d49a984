"""Recording answers with TruLens: into real databases where it is installed; the rest without it."""

from __future__ import annotations

import json
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from athena import cli
from athena.models import Models
from evals.datasets import Question
from evals.recording import Assistant, database_url, open_recorder, version_of, without_password
from pipeline.answer import Answer, Answerability, Retrieval
from pipeline.errors import ConfigurationError, ModelError
from pipeline.models.base import ModelChoice
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, SourcesFound

pytestmark = pytest.mark.usefixtures("own_folder")

FOUND = Retrieval("What does the LN2 tank hold?", (), Answerability(0.75, 0.25))
ANSWER = Answer("And it?", "What does the LN2 tank hold?", "Nitrogen.", "quote", "", abstained=False)
QUERY = Question(_id="q", text="And it?")
KEY = "sk-0123456789-not-a-real-key"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments))


# -- without TruLens ----------------------------------------------------------------------------------


@pytest.fixture
def no_trulens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "trulens"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "trulens", None)


@pytest.mark.usefixtures("no_trulens")
@pytest.mark.parametrize("command", [["answers", "FOLDER", "--trulens"], ["dashboard"]])
def test_without_the_extra_it_is_named(command: list[str], beir: Path) -> None:
    result = run("eval", *[str(beir) if word == "FOLDER" else word for word in command], "new.sqlite")
    assert result.exit_code == 1
    assert "TruLens needs the package 'trulens" in result.stderr
    assert "athena-docs[trulens]" in result.stderr
    assert "Traceback" not in result.output
    assert "Indexing" not in result.stderr
    assert not Path("new.sqlite").exists()


def test_a_path_becomes_a_url_and_its_folder_is_made(tmp_path: Path) -> None:
    assert database_url("runs/a.sqlite") == f"sqlite:///{tmp_path}/runs/a.sqlite"
    assert (tmp_path / "runs").is_dir()
    assert database_url("postgresql+psycopg://db/x") == "postgresql+psycopg://db/x"


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"Cannot make the folder of 'file/a\.sqlite'"):
        database_url("file/a.sqlite")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@db:5432/x", "postgresql://me:***@db:5432/x"),
        ("postgresql://me:se@cret@db/x", "postgresql://me:***@db/x"),
        ("sqlite:////tmp/a@b.sqlite", "sqlite:////tmp/a@b.sqlite"),
        ("postgresql://db/x", "postgresql://db/x"),
    ],
)
def test_a_password_is_not_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_a_version_is_the_model_and_the_settings() -> None:
    name = version_of("", {"alpha": 0.5, "top_k": 8})
    assert name.startswith("quotes ")
    assert version_of("", {"top_k": 8, "alpha": 0.5}) == name
    assert version_of("", {"alpha": 0.6, "top_k": 8}) != name
    assert version_of("ollama/llama3.2", {"alpha": 0.5, "top_k": 8}).startswith("ollama/llama3.2 ")


def test_the_assistant_returns_the_run() -> None:
    asked = Assistant(lambda query, stop: iter([SourcesFound(FOUND), AnswerFinished(ANSWER)])).asked(QUERY)
    assert (asked.query, asked.retrieval, asked.answer) == (QUERY, FOUND, ANSWER)


def test_a_failed_run_raises() -> None:
    error = ModelError("The model is gone.", "Start it.")
    failed = RunFailed("The model is gone.", "Start it.", "", error)
    with pytest.raises(ModelError, match="gone"):
        Assistant(lambda query, stop: iter([SourcesFound(FOUND), failed])).asked(QUERY)


def test_ctrl_c_stops_the_run() -> None:
    was_stopped = threading.Event()

    def events(query: Question, stop: threading.Event) -> Iterator[ChatEvent]:
        yield SourcesFound(FOUND)
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        if stop.wait(30):
            was_stopped.set()
        yield AnswerFinished(ANSWER)

    with pytest.raises(KeyboardInterrupt):
        Assistant(events).asked(QUERY)
    assert was_stopped.wait(10)


def test_an_evaluation_leaves_the_servers_alone(beir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATHENA_STORE", "server")
    monkeypatch.setenv("ATHENA_MONGODB_URL", "mongodb://127.0.0.1:9/")
    Path("manual").mkdir()
    Path("manual/fan.md").write_text("# Fan\n\nA broken fan shows OFFLINE.\n", encoding="utf-8")
    for corpus in ([], ["--corpus", "manual"]):
        result = run("eval", "answers", str(beir), *corpus, "--json")
        assert result.exit_code == 0, result.output


# -- with TruLens -------------------------------------------------------------------------------------

with_trulens = pytest.mark.filterwarnings("default")  # TruLens and what it stands on warn of their own


@pytest.fixture
def session() -> Any:
    return pytest.importorskip(
        "trulens.core.session", reason="the extra [trulens] is not installed"
    ).TruSession


def recorded(session: Any, database: str) -> Any:
    """The records of a database, by the data set's id of their question."""
    try:
        opened = session(database_url=database_url(database))
        records, _ = opened.get_records_and_feedback()
        opened.experimental_otel_exporter.disable()
    finally:
        session.delete_singleton(session)
    return records.set_index("input_id")


def spans(database: str, kind: str) -> list[dict[str, Any]]:
    """The attributes of the spans of one type, in the order of their ends."""
    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            "SELECT record_attributes FROM trulens_events ORDER BY timestamp"
        ).fetchall()
    connection.close()
    attributes = [json.loads(row[0]) for row in rows]
    return [each for each in attributes if each["ai.observability.span_type"] == kind]


@with_trulens
def test_answers_and_feedback_are_recorded(session: Any, beir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATHENA_OPENAI_API_KEY", KEY)
    result = run("eval", "answers", str(beir), "--trulens", "runs/a.sqlite", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    plain = json.loads(run("eval", "answers", str(beir), "--json").stdout)
    assert set(report) == set(plain)
    assert {**report, "ms_per_query": 0, "ingest_seconds": 0} == {
        **plain,
        "ms_per_query": 0,
        "ingest_seconds": 0,
    }
    records = recorded(session, "runs/a.sqlite")
    assert list(records.index) == ["q1", "q2", "q3", "q4"]
    assert set(records["app_name"]) == {"Athena on lunar"}
    assert records.loc["q1", "input"] == "What does a broken fan show?"
    assert "OFFLINE" in records.loc["q1", "output"]
    assert "I found nothing about this" in records.loc["q4", "output"]
    for name, values in {
        "Groundedness": [1, 1, 1, None],
        "Answer Correct": [1, 1, 1, None],
        "Abstained Rightly": [1, 1, 1, 1],
    }.items():
        assert [None if value != value else value for value in records[name]] == values, name
    assert records["Answer Relevance"][:3].between(0.2, 1).all()
    assert records["Context Relevance"]["q1"] > 0.25 > records["Context Relevance"]["q4"]
    assert KEY.encode() not in Path("runs/a.sqlite").read_bytes()


@with_trulens
@pytest.mark.usefixtures("session")
def test_the_retrieval_is_a_span_with_the_question_as_it_was_searched_for(beir: Path) -> None:
    assert run("eval", "answers", str(beir), "--trulens", "a.sqlite").exit_code == 0
    found = spans("a.sqlite", "retrieval")
    questions = [span["ai.observability.retrieval.query_text"] for span in found]
    assert questions[0] == "What does a broken fan show?"
    assert "LN2" in questions[2]  # from its history
    assert any("OFFLINE" in text for text in found[0]["ai.observability.retrieval.retrieved_contexts"])
    roots = spans("a.sqlite", "record_root")
    assert [root.get("ai.observability.record_root.ground_truth_output") for root in roots] == [
        "OFFLINE", "at Earth", "5 bar", None
    ]  # fmt: skip


@with_trulens
def test_with_a_language_model_its_sentences_are_judged(
    session: Any, beir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.fake_llm import FakeLLM

    reply = "A broken fan shows OFFLINE [1]. Its blades are painted in a bright shade of yellow [1]."
    choice = ModelChoice("language model", "fake/llm", "fake", "for this test")
    model = FakeLLM([reply], repeat=True)
    monkeypatch.setattr(Models, "language_model", lambda self, name=None: (model, choice))
    Path("fan").mkdir()
    Path("fan/corpus.jsonl").write_bytes((beir / "corpus.jsonl").read_bytes())
    first = (beir / "queries.jsonl").read_text(encoding="utf-8").splitlines()[0]
    Path("fan/queries.jsonl").write_text(first, encoding="utf-8")
    result = run("eval", "answers", "fan", "--no-hyde", "--trulens", "a.sqlite")
    assert result.exit_code == 0, result.output
    (record,) = recorded(session, "a.sqlite").to_dict("records")
    assert record["app_version"].startswith("fake/llm ")
    assert record["output"].startswith("A broken fan shows OFFLINE [1]. Its blades are painted")
    assert (record["Groundedness"], record["Answer Correct"]) == (0.5, 1)


@with_trulens
def test_one_database_after_the_other_and_again(session: Any, beir: Path) -> None:
    for name in ("a.sqlite", "b.sqlite", "b.sqlite"):
        assert run("eval", "answers", str(beir), "--trulens", name).exit_code == 0
    assert run("eval", "answers", str(beir), "--no-hyde", "--trulens", "b.sqlite").exit_code == 0
    assert len(recorded(session, "a.sqlite")) == 4
    versions = recorded(session, "b.sqlite")["app_version"].value_counts()
    assert sorted(versions) == [4, 8]


@with_trulens
def test_what_was_recorded_stays_when_it_is_ended(
    session: Any, beir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evals.recording import Recorder

    whole = Recorder.judge_answers

    def ended(self: Recorder, queries: Any, **given: Any) -> Any:
        def stop(done: int, total: int) -> None:
            if done == 2:
                raise KeyboardInterrupt

        return whole(self, queries, **{**given, "report": stop})

    monkeypatch.setattr(Recorder, "judge_answers", ended)
    result = run("eval", "answers", str(beir), "--trulens", "a.sqlite")
    assert (result.exit_code, "Stopped." in result.stderr) == (130, True)
    records = recorded(session, "a.sqlite")
    assert list(records.index) == ["q1", "q2"]
    assert list(records["Abstained Rightly"]) == [1, 1]


@with_trulens
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("database", ["broken.sqlite", "nonsense://me:secret@host/x"])
def test_a_database_that_cannot_be_opened_is_an_error(database: str) -> None:
    Path("broken.sqlite").write_text("not a database, but long enough to be taken for one" * 100, "utf-8")
    recorder = open_recorder(database, dataset="lunar")
    with pytest.raises(ConfigurationError, match="Cannot open the TruLens database") as caught, recorder:
        pytest.fail("it was opened")
    assert "secret" not in str(caught.value)
