from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from athena.cli import app
from evals.conversations import Asked, Conversation
from evals.turn_search import evaluate
from memory.turn_index import Turn
from tests.fakes import FakeEncoder

DATA = Path(__file__).parents[2] / "evals" / "data" / "memory"


def conversation(name: str = "one") -> Conversation:
    turns = [Turn(id=f"D1:{number}", session="1", text=f"word{number} alone") for number in range(30)]
    asked = (Asked("word3?", ("D1:3",), "4"), Asked("word7 word21?", ("D1:7", "D1:21"), "1"))
    return Conversation(name, tuple(turns), asked, left_out=1)


def test_each_conversation_is_asked_about_its_own_turns() -> None:
    other = Conversation("other", (Turn(id="D1:3", session="1", text="word3"),), (), left_out=2)
    report = evaluate([conversation(), other], encoder=FakeEncoder(dimensions=256))
    assert report.questions == 2
    assert (report.conversations, report.turns, report.left_out) == (2, 31, 3)
    assert report.metrics["R@25"] == 1
    assert report.by_category["4"]["R@5"] == 1
    assert report.by_category["1"]["questions"] == 1
    assert report.metrics["MRR"] == (report.by_category["1"]["MRR"] + report.by_category["4"]["MRR"]) / 2
    assert 0 < report.ms_per_read["p50"] <= report.ms_per_read["p95"]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["locomo/dev.json", "beam/dev"])
def test_the_command_prints_what_it_promises(path: str) -> None:
    done = CliRunner().invoke(app, ["eval", "memory", str(DATA / path), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {"questions", "metrics", "by_category", "ms_per_read"} <= found.keys()
    assert list(found["metrics"]) == ["R@5", "R@10", "R@25", "hit@10", "MRR"]
    assert list(found["ms_per_read"]) == ["p50", "p95"]
    assert found["metrics"]["R@5"] > 0.65  # .72 and .79 when it was written
    assert sum(row["questions"] for row in found["by_category"].values()) == found["questions"]
    asked = sum(row["questions"] for row in found["chat"]["by_category"].values())
    assert asked == found["questions"] + found["never_said"]


@pytest.mark.slow
def test_a_table_for_people_and_a_clear_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["eval", "memory", str(DATA / "beam" / "dev")])
    assert "2 questions about what was never said" in done.stdout
    broken = tmp_path / "broken.json"
    broken.write_text("[1]", encoding="utf-8")
    done = CliRunner().invoke(app, ["eval", "memory", str(broken)])
    assert done.exit_code == 1
    assert "not in LoCoMo's format" in done.stderr
