"""The command line with the real bundled model: shapes, exit codes, and what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from athena import cli
from athena.cli.answers import answer_of
from athena.models import Models
from pipeline.errors import AthenaError
from pipeline.llamaindex.llms import GivenModel
from pipeline.models.base import ModelChoice
from pipeline.stores.embedded import EmbeddedStore
from tests.fake_llm import FakeLLM

pytestmark = pytest.mark.usefixtures("own_folder")

ROOT = Path(__file__).parents[3]
UNDECODABLE = "fan \udcff?"  # as Python gives an argument with the byte 0xff
COMMANDS = ("ingest", "search", "ask", "chat", "eval", "eval retrieval", "eval answers",
            "doctor", "migrate", "backup", "serve")  # fmt: skip

ECS = """\
# ECS

## Cabin fan

The cabin fan moves the air. A broken fan shows OFFLINE.

## LN2 tank

The LN2 tank holds nitrogen. When the LN2 tank shows OFFLINE, check these:

- the breaker
- the quantity sensor
"""
RADIO = "# Radio\n\nCall the ground on S-band. The antenna points at Earth.\n"

RESULT_KEYS = {
    "rank", "score", "source", "heading_path", "section_id", "start", "end", "start_line", "end_line", "text"
}  # fmt: skip
CITATION_KEYS = {
    "marker", "source", "heading_path", "start", "end", "start_line", "end_line", "quote"
}  # fmt: skip


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "manual"
    (folder / "systems").mkdir(parents=True)
    (folder / "systems" / "ecs.md").write_text(ECS, encoding="utf-8")
    (folder / "radio.md").write_text(RADIO, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def data_dir(manual: Path) -> Path:
    """The folder of an index of the manual."""
    folder = manual.parent / "data"
    result = run("ingest", str(manual), "--data-dir", str(folder))
    assert result.exit_code == 0, result.output
    return folder


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(cli.app, list(arguments), input=given)


def ok(*arguments: str) -> dict[str, Any]:
    """What a command prints as JSON: one line, and nothing else."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def text_of(source: Path, start: int, end: int) -> str:
    return source.read_text(encoding="utf-8")[start:end]


# -- help and usage -----------------------------------------------------------------------------------


def test_help_of_everything() -> None:
    whole = run("--help").output
    for command in COMMANDS:
        assert f" {command.split()[0]} " in whole
        result = run(*command.split(), "-h")
        assert result.exit_code == 0 and "Usage" in result.output


def test_a_bad_setting_is_named_and_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATHENA_TOP_K", "none")
    result = run("search", "fan")
    assert result.exit_code == 1
    assert "ATHENA_TOP_K" in result.stderr
    assert "Traceback" not in result.output


# -- ingest -------------------------------------------------------------------------------------------


def test_ingest_as_json_twice(manual: Path, tmp_path: Path) -> None:
    arguments = ("ingest", str(manual), "--data-dir", str(tmp_path / "data"))
    first = ok(*arguments)
    assert set(first) >= {
        "added", "changed", "unchanged", "deleted", "problems", "sections", "sentences", "embedded",
        "seconds", "stopped",
    }  # fmt: skip
    assert sorted(first["added"]) == ["radio.md", "systems/ecs.md"]
    assert not first["problems"] and first["stopped"] is False
    assert first["embedded"] == first["sections"] + first["sentences"] == 3 + 8
    second = ok(*arguments)
    assert sorted(second["unchanged"]) == sorted(first["added"])
    assert (second["added"], second["embedded"]) == ([], 0)
    assert "2 unchanged" in run(*arguments).output
    again = run(*arguments, "--rebuild").output
    assert "3 sections" in again and "11 passages embedded" in again


def test_some_files_failing_ends_with_3_and_the_others_are_indexed(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.md").write_text(RADIO, encoding="utf-8")
    (folder / "bad.md").write_bytes(b"caf\xe9 noir")
    arguments = ("ingest", str(folder), "--data-dir", str(tmp_path / "data"))
    result = run(*arguments, "--json")
    assert result.exit_code == 3
    report = json.loads(result.stdout)
    assert report["added"] == ["good.md"]
    (problem,) = report["problems"]
    assert problem["source"] == "bad.md"
    assert problem["reason"].startswith("not UTF-8")
    assert problem["fix"]
    result = run(*arguments)
    assert result.exit_code == 3
    assert "'bad.md': not UTF-8" in result.output


# -- search -------------------------------------------------------------------------------------------


def test_search_as_json(data_dir: Path, manual: Path) -> None:
    found = ok("search", "Why does the LN2 tank show OFFLINE?", "--top-k", "2", "--data-dir", str(data_dir))
    assert found["query"] == "Why does the LN2 tank show OFFLINE?"
    assert [result["rank"] for result in found["results"]] == [1, 2]
    best = found["results"][0]
    assert set(best) >= RESULT_KEYS
    assert (best["source"], best["heading_path"]) == ("systems/ecs.md", ["ECS"]), "all of it was found"
    for result in found["results"]:
        source = manual / result["source"]
        assert result["text"] == text_of(source, result["start"], result["end"])
        lines = source.read_text(encoding="utf-8").splitlines()
        assert result["text"].splitlines()[0] in lines[result["start_line"] - 1]
        assert result["text"].splitlines()[-1] in lines[result["end_line"] - 1]
    assert {"embed", "search", "fuse", "rerank"} <= {step["name"] for step in found["steps"]}


def test_flags_of_a_search_reach_it(data_dir: Path) -> None:
    shared = ("search", "antenna", "--data-dir", str(data_dir))
    assert [result["source"] for result in ok(*shared, "--alpha", "0")["results"]] == ["radio.md"]
    assert len(ok(*shared, "--alpha", "1")["results"]) == 2
    assert len(ok(*shared, "--alpha", "1", "--top-k", "1")["results"]) == 1
    (rerank,) = [step for step in ok(*shared, "--no-rerank")["steps"] if step["name"] == "rerank"]
    assert rerank["status"] == "skipped"


def test_why_as_json_and_as_text(data_dir: Path) -> None:
    shared = ("search", "antenna", "--data-dir", str(data_dir), "--top-k", "1")
    why = ok(*shared, "--why", "systems/ecs.md#Cabin fan")["why"]
    assert why["dropped_by"] == "select"
    result = run(*shared, "--why", "systems/ecs.md#Cabin fan")
    assert "beyond the first" in result.output
    result = run(*shared, "--why", "systems/ecs.md#Warp drive")
    assert result.exit_code == 0
    assert "called 'Warp drive'" in result.output
    assert "pump.md" in run(*shared, "--why", "pump.md#Pump").output


def test_a_search_as_text(data_dir: Path) -> None:
    result = run("search", "Where does the antenna point?", "--data-dir", str(data_dir))
    assert result.exit_code == 0
    assert " 1  radio.md › Radio" in result.output
    assert "The antenna points at Earth." in result.output
    nothing = run("search", "fan", "--path", "nowhere/*", "--data-dir", str(data_dir))
    assert nothing.exit_code == 0
    assert "Nothing was found" in nothing.output


@pytest.mark.parametrize("arguments", [["search", "fan"], ["ask", "fan?"], ["chat"]])
def test_with_nothing_indexed_it_says_what_to_do(arguments: list[str], tmp_path: Path) -> None:
    result = run(*arguments, "--data-dir", str(tmp_path / "data"), given="fan?\n")
    assert result.exit_code == 1
    assert "Nothing is indexed" in result.stderr
    assert "athena ingest" in result.stderr


# -- ask and chat -------------------------------------------------------------------------------------


def test_ask_as_json(data_dir: Path, manual: Path) -> None:
    answer = ok("ask", "Why does the LN2 tank show OFFLINE?", "--data-dir", str(data_dir))
    assert set(answer) >= {
        "question", "answer", "abstained", "mode", "model", "citations", "steps", "conversation_id"
    }  # fmt: skip
    assert (answer["question"], answer["mode"], answer["model"]) == (
        "Why does the LN2 tank show OFFLINE?", "quote", ""
    )  # fmt: skip
    assert answer["abstained"] is False
    assert answer["conversation_id"]
    assert answer["citations"]
    for citation in answer["citations"]:
        assert set(citation) >= CITATION_KEYS
        folded = [unit["marker"] for unit in answer["units"] if unit["folded"]]
        assert citation["marker"] in folded or f"[{citation['marker']}]" in answer["answer"]
        assert citation["quote"] == text_of(manual / citation["source"], citation["start"], citation["end"])
    assert "the quantity sensor" in answer["answer"]
    assert all(set(step) >= {"name", "ms"} for step in answer["steps"])


def test_ask_abstains_without_sections_that_have_nothing_to_do_with_the_question(data_dir: Path) -> None:
    answer = ok("ask", "Who won the football cup final in 1966?", "--data-dir", str(data_dir))
    assert answer["abstained"] is True
    assert answer["citations"] == answer["nearest"] == []


def test_ask_goes_on_with_a_conversation(data_dir: Path) -> None:
    first = ok("ask", "What does a broken fan show?", "--data-dir", str(data_dir))
    conversation = first["conversation_id"]
    second = ok("ask", "And where is it?", "--conversation", conversation, "--data-dir", str(data_dir))
    assert second["conversation_id"] == conversation
    assert second["question"] == "And where is it?"
    assert second["condensed_question"] != second["question"]
    assert ok("ask", "Which antenna?", "--data-dir", str(data_dir))["conversation_id"] != conversation
    unknown = run("ask", "Fan?", "--conversation", "gone", "--data-dir", str(data_dir))
    assert unknown.exit_code == 1
    assert "gone" in unknown.stderr


def test_a_chat_ends_with_an_empty_line(data_dir: Path) -> None:
    result = run("chat", "--private", "--data-dir", str(data_dir),
                 given="Where does the antenna point?\n\nFan?\n")  # fmt: skip
    assert result.exit_code == 0
    assert "The antenna points at Earth." in result.stdout
    assert "fan" not in result.stdout


# -- doctor -------------------------------------------------------------------------------------------


def test_doctor(data_dir: Path) -> None:
    diagnosis = ok("doctor", "--data-dir", str(data_dir))
    assert set(diagnosis) >= {"ok", "checks"}
    assert diagnosis["ok"] is True
    assert all(set(check) >= {"name", "ok", "detail", "fix"} for check in diagnosis["checks"])
    names = [check["name"] for check in diagnosis["checks"]]
    assert {"python", "data folder", "index", "embedding", "cross-encoder", "language model"} <= set(names)
    result = run("doctor", "--data-dir", str(data_dir))
    assert result.exit_code == 0
    assert "✓ index: 2 documents" in result.output


# -- eval ---------------------------------------------------------------------------------------------


def test_evaluations_as_json(beir: Path) -> None:
    assert ok("eval", "retrieval", str(beir))["metrics"]["MRR@10"] == 1


# -- the terminal -------------------------------------------------------------------------------------


def test_a_run_that_just_ends_is_an_error() -> None:
    with pytest.raises(AthenaError, match="ended unexpectedly"):
        answer_of(iter(()))


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", UNDECODABLE, "--json"],
        ["ask", UNDECODABLE, "--json"],
        ["search", "fan", "--path", "\udcff"],
        ["ask", "fan", "--conversation", "\udcff"],
        ["ingest", "\udcff"],
        ["search", "a\0b fan"],
    ],
)
def test_what_is_no_text_is_answered_or_refused(arguments: list[str], data_dir: Path) -> None:
    result = run(*arguments, "--data-dir", str(data_dir))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 0 or result.stderr or "Not indexed" in result.stdout
    if "--json" in arguments:
        assert json.loads(result.stdout)


@pytest.mark.slow
def test_streams_that_are_closed_or_no_text_are_not_complained_of(data_dir: Path) -> None:
    program = [sys.executable, "-m", "athena"]
    shared: dict[str, Any] = {"timeout": 120, "stderr": subprocess.PIPE}
    shared["env"] = {**os.environ, "PYTHONPATH": str(ROOT)}
    read, write = os.pipe()
    os.close(read)
    left = subprocess.run([*program, "search", "fan", "--data-dir", str(data_dir)], stdout=write, **shared)
    os.close(write)
    assert left.returncode in (0, 1) and b"Traceback" not in left.stderr
    typed = b"fan \xff \0 OFFLINE?\n\n"
    told = subprocess.run(
        [*program, "chat", "--data-dir", str(data_dir)], input=typed, stdout=subprocess.PIPE, **shared
    )
    assert told.returncode == 0 and b"OFFLINE" in told.stdout and b"Traceback" not in told.stderr


def test_serve_starts_the_app_with_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    from ui import launch

    served: list[Any] = []
    monkeypatch.setattr(launch, "serve", lambda settings, **_: served.append(settings))
    assert run("serve", "--host", "127.0.0.2", "--port", "9001", "--data-dir", "here").exit_code == 0
    (settings,) = served
    assert (settings.host, settings.port, settings.data_dir) == ("127.0.0.2", 9001, Path("here"))


def test_an_interrupted_command_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: object, folder: Path, **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(EmbeddedStore, "__init__", interrupted)
    result = run("search", "fan")
    assert result.exit_code == 130
    assert "Stopped." in result.stderr


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_what_had_arrived_is_printed_before_the_error(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    def dying(*_: object) -> tuple[GivenModel, ModelChoice]:
        reply = "The cabin fan moves the air [1]. It never came to say this."
        return GivenModel(FakeLLM([reply], fails_after=9)), ModelChoice(
            "language model", "fake", "local", "here"
        )

    monkeypatch.setattr(Models, "language_model", dying)
    result = run("ask", "What moves the air?", "--data-dir", str(data_dir), *flags)
    assert result.exit_code == 1
    assert "The cabin fan moves the air [1]. It never" in result.stdout
    assert "middle of its" in result.stderr
    assert ("middle of its" in result.stdout) == bool(flags)
