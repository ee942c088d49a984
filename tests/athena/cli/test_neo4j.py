"""The memory's graph in Neo4j, as a user meets it: with one that is up, with one that is down."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from athena import cli, load_settings, open_athena
from athena.stores import open_memories
from memory.recalling.graph import neighbourhood
from tests.server_processes import free_ports
from tests.server_stores import NEO4J_URL, REMOVE_STORE, require_neo4j

PASSWORD = "qu1te-l0ng"
Run = Callable[..., str]


@pytest.fixture
def run(own_folder: None, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder of its own, and returns all that it says."""
    monkeypatch.setenv("ATHENA_MEMORY", "graph")
    monkeypatch.setenv("ATHENA_LLM", "none")
    monkeypatch.setenv("ATHENA_DATA_DIR", "data")

    def run(*arguments: str, fails: bool = False) -> str:
        done = CliRunner().invoke(cli.app, [*arguments])
        assert (done.exit_code != 0) == fails, done.output
        return done.output

    return run


def ingested(run: Run) -> None:
    Path("manual").mkdir()
    Path("manual/fan.md").write_text("# Fan\n\nThe cabin fan is fed by circuit C-105.\n", encoding="utf-8")
    run("ingest", "manual")


@pytest.fixture
def down(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Where nobody answers."""
    pytest.importorskip("neo4j")
    monkeypatch.setenv("ATHENA_NEO4J_URL", f"bolt://ada:{PASSWORD}@127.0.0.1:{free_ports(1)[0]}")
    return run


def test_one_that_is_down_is_named_with_its_setting_and_nothing_changes(down: Run) -> None:
    said = " ".join(down("memory", "add", "Clara plays the cello.", fails=True).split())
    assert "Neo4j at 'bolt://127.0.0.1:" in said and "does not answer" in said
    assert "ATHENA_NEO4J_URL" in said and PASSWORD not in said


def test_a_question_is_answered_without_it(down: Run, caplog: pytest.LogCaptureFixture) -> None:
    ingested(down)
    begun = time.monotonic()
    answer = json.loads(down("ask", "What feeds the cabin fan?", "--json"))
    assert time.monotonic() - begun < 20
    assert "C-105" in answer["answer"]
    assert "ATHENA_NEO4J_URL" in caplog.text
    assert PASSWORD not in json.dumps(answer) + caplog.text


def test_doctor_says_what_to_do(down: Run) -> None:
    ingested(down)
    checks = json.loads(down("doctor", "--json", fails=True))["checks"]
    (graph,) = [check for check in checks if check["name"] == "graph"]
    assert not graph["ok"] and "ATHENA_NEO4J_URL" in graph["fix"]
    assert PASSWORD not in json.dumps(checks)


def test_an_address_that_is_none_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATHENA_NEO4J_URL", f"http://ada:{PASSWORD}@127.0.0.1:7474")
    said = run("memory", "list", fails=True)
    assert "ATHENA_NEO4J_URL" in said and PASSWORD not in said


@pytest.mark.server
def test_it_is_remembered_asked_for_exported_and_forgotten(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    require_neo4j()
    monkeypatch.setenv("ATHENA_NEO4J_URL", NEO4J_URL)
    ingested(run)
    with closing(open_memories(load_settings())) as memories:
        try:
            _a_life(run, memories)
        finally:
            memories._graph._run(REMOVE_STORE, store=memories.identity())  # type: ignore[attr-defined]


def _a_life(run: Run, memories: Any) -> None:
    def names() -> list[str]:
        query = """
        MATCH (state:Athena {store: $store}) MATCH (entity:Athena:__Entity__ {owner: state.id})
        RETURN entity.name AS name ORDER BY name
        """
        return [row["name"] for row in memories._graph._run(query, store=memories.identity())]

    added = json.loads(run("memory", "add", "My sister Clara lives in Bonn.", "--json"))
    assert any("Clara" in name for name in names()) and "Bonn" in names()
    answer = json.loads(run("ask", "What feeds the cabin fan?", "--json"))
    assert "C-105" in answer["answer"]
    assert "C-105" in names()  # the answer's entities are written back
    with closing(open_athena(load_settings())) as athena:
        index = athena.memory.index
        bonn = index.entity_named("Bonn")
        assert bonn is not None
        found = neighbourhood(index, [bonn.id])
        assert len(found.entities) > 1 and added["id"] in found.direct
    checks = json.loads(run("doctor", "--json"))["checks"]
    (graph,) = [check for check in checks if check["name"] == "graph"]
    assert graph["ok"] and graph["detail"].startswith("Neo4j/") and "in step" in graph["detail"]
    run("memory", "export", "all.json")
    run("memory", "forget", added["id"], "--yes")
    assert not [name for name in names() if "Clara" in name or "Bonn" in name]
    run("memory", "import", "all.json")
    assert "Bonn" in names()
    run("memory", "forget", "--all", "--yes")
    assert names() == []
