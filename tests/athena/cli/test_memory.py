"""`athena memory`: each command over a small index, and what chats do to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from athena import cli

Run = Callable[..., Any]

KEYS = {
    "id", "text", "kind", "tier", "importance", "pinned", "trusted", "created_at", "ended_at",
    "sources",
}  # fmt: skip


@pytest.fixture
def run(own_folder: None) -> Run:
    """Runs a command in a folder of its own; `--json` is read."""

    def run(*arguments: str, fails: bool = False) -> Any:
        done = CliRunner().invoke(cli.app, [*arguments, "--data-dir", "data"])
        assert (done.exit_code != 0) == fails, done.output
        return json.loads(done.stdout) if "--json" in arguments and not fails else done.output

    return run


@pytest.fixture
def manual(run: Run) -> Run:
    """The same with a manual to ask."""
    Path("manual").mkdir()
    text = "# Fan\n\nThe cabin fan is fed by circuit C-105. It hums at 40 dB.\n"
    Path("manual/fan.md").write_text(text, encoding="utf-8")
    run("ingest", "manual")
    return run


def files_with(text: str) -> list[str]:
    found = (path for path in Path("data").rglob("*") if path.is_file())
    return [str(path) for path in found if text.encode() in path.read_bytes()]


def test_a_memory_from_its_beginning_to_its_end(run: Run) -> None:
    added = run("memory", "add", "My sister Clara plays the cello.", "--json")
    assert added.keys() > KEYS
    (listed,) = run("memory", "list", "--json")
    assert listed["text"] == "My sister Clara plays the cello."
    (found,) = run("memory", "search", "Who plays the cello?", "--json")
    assert found.keys() > KEYS | {"score", "recency", "importance", "relevance"}
    assert found["id"] == added["id"]
    edited = run("memory", "edit", added["id"], "My sister Clara plays the viola.", "--json")
    assert (edited["id"], edited["text"]) == (added["id"], "My sister Clara plays the viola.")
    assert files_with("cello") == []
    assert run("memory", "pin", added["id"][:8], "--json")["pinned"]
    preview = run("memory", "forget", added["id"], "--json")
    assert [item["id"] for item in preview["would_forget"]] == [added["id"]]
    assert len(run("memory", "list", "--json")) == 1
    assert run("memory", "forget", added["id"], "--yes", "--json") == {"forgotten": [added["id"]]}
    assert run("memory", "list", "--json") == []
    assert files_with("Clara") == []


def test_an_export_is_imported_as_it_was(run: Run) -> None:
    run("memory", "add", "I live in Berlin.")
    run("memory", "add", "I moved to Munich.")
    before = run("memory", "list", "--history", "--json")
    run("memory", "export", "all.json")
    run("memory", "forget", "--all", "--yes")
    assert run("memory", "import", "all.json", "--json") == {"imported": 2}
    assert run("memory", "list", "--history", "--json") == before
    assert "0 imported." in run("memory", "import", "all.json")
    assert run("memory", "import", "all.json", "--user", "tom", "--json") == {"imported": 2}
    assert len(run("memory", "list", "--history", "--user", "tom", "--json")) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("search", "???"), "nothing to search for"),
        (("edit", "unknown", ""), "nothing to remember"),
        (("forget", "--search", "?", "--yes"), "nothing to forget"),
        (("import", "no.json"), "Cannot read 'no.json'"),
        (("import", "list.json"), "not an export of memories"),
        (("export", "no/such/folder.json"), "Cannot write"),
        (("add", "..."), "nothing to remember"),
        (("edit", "unknown", "x"), "No memory 'unknown'"),
        (("pin", "unknown"), "No memory 'unknown'"),
        (("forget", "unknown", "--yes"), "No memory 'unknown'"),
        (("forget",), "exactly one of"),
        (("forget", "--all", "--search", "x"), "exactly one of"),
        (("import", "bad.json"), "not an export of memories"),
        (("add", "My password is hunter2abc"), "Not kept: password"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    run: Run, arguments: tuple[str, ...], says: str
) -> None:
    Path("bad.json").write_text("{}", encoding="utf-8")
    Path("list.json").write_text("[1]", encoding="utf-8")
    Path("no.json").write_bytes(b"\xff\xfe")
    run("memory", "add", "I live in Berlin.")
    before = run("memory", "list", "--json")
    assert says in " ".join(run("memory", *arguments, fails=True).split())
    assert run("memory", "list", "--json") == before


def test_a_long_memory_is_one_cut_line_of_a_list_and_whole_by_itself(run: Run) -> None:
    long = "Clara keeps these: " + "cellos " * 300 + "and the last one is a viola."
    added = run("memory", "add", long, "--json")
    for command in (("list",), ("search", "What does Clara keep?")):
        shown = run("memory", *command)
        assert "Clara keeps" in shown
        assert "viola" not in shown
        assert run("memory", *command, "--json")[0]["text"] == long
    assert "viola" in run("memory", "pin", added["id"])


def test_a_chat_remembers_recalls_and_forgets(manual: Run) -> None:
    kept = manual("ask", "Remember that my cabin fan is called Gustav.", "--json")
    assert kept["mode"] == "memory"
    assert "my cabin fan is called Gustav" in kept["answer"]
    (memory,) = manual("memory", "list", "--json")
    (source,) = memory["sources"]
    message = "Remember that my cabin fan is called Gustav."
    assert source["turn_id"] == kept["turn_id"]
    assert message[source["start"] : source["end"]] == source["quote"] == memory["text"]
    asked = manual("ask", "What do you know about me?", "--json")
    assert "Gustav" in asked["answer"]
    answer = manual("ask", "What feeds the cabin fan?", "--json")
    assert answer["mode"] == "quote"
    assert [item["id"] for item in answer["recalled"]] == [memory["id"]]
    names = [step["name"] for step in answer["steps"]]
    assert (names[0], names[1], names[-1]) == ("recall", "correct", "remember")
    assert all("Gustav" not in citation["quote"] for citation in answer["citations"])
    wanted = manual("ask", "Forget that my cabin fan is called Gustav.", "--json")
    assert "Nothing is forgotten" in wanted["answer"]
    assert len(manual("memory", "list", "--json")) == 1
    assert files_with("Gustav")
    manual("memory", "forget", "--search", "Gustav", "--yes")
    assert manual("memory", "list", "--json") == []
    assert [path for path in files_with("fan is called Gustav") if "manual" not in path] == []


def test_private_questions_leave_no_trace(manual: Run) -> None:
    answer = manual("ask", "What feeds the zorblatt fan?", "--private", "--json")
    assert answer["answer"]
    manual("ask", "Remember that zorblatts hum.", "--private", "--json")
    assert manual("memory", "list", "--json") == []
    assert files_with("zorblatt") == []
