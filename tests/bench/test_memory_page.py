from __future__ import annotations

from pathlib import Path

import pytest

from bench.machine import Machine
from bench.memory import main
from bench.memory_page import to_markdown
from bench.results import Record, Results
from bench.scripts import ACTED, GROWTH, NOW, RETIRED

MACHINE = Machine("a CPU", 2, True, 8.0, "Linux", {"python": "3.11"})


def test_targets_have_marks_and_what_was_not_looked_at_has_none() -> None:
    runs = {NOW: [1.0] * 19 + [0.0], RETIRED: [0.0, 1.0], GROWTH: [1.0, 1.5], ACTED: [0.0, 0.0]}
    records = {
        "scripts agent": Record("scripts agent", "2026-01-01", runs=runs),
        "speed agent": Record("speed agent", "2026-01-01", {}, {"read_ms": [10.0] * 9 + [40.0]}),
    }
    page = to_markdown(Results(MACHINE, records), count=3)
    rows = {
        line.split(" | ")[0].strip("| "): line.split(" | ") for line in page.splitlines() if " | " in line
    }
    assert rows[NOW][3] == "0.95 (20) ✓"
    assert rows[RETIRED][3] == "1 (2) ✗"
    assert rows[GROWTH][3] == "1.50 (2) ✗"
    assert rows[ACTED][3] == "0 (2) ✓"
    assert rows[NOW][1] == "–"
    assert rows["read, p50"][3] == "10.0 ms"
    assert rows["read, p95"][3] == "40.0 ms ✗"
    assert ": 3\n" in page


def test_a_short_run_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--memories", "30", "--times", "2", "--out", str(tmp_path), "--only"]
    assert main([*options, "speed inject"]) == 0
    assert main([*options, "turns"]) == 0
    page = (tmp_path / "benchmarks-memory.md").read_text(encoding="utf-8")
    assert "At 30 turns a search takes" in page
    assert "read, p95" in capsys.readouterr().out
    assert main([*options, "nothing"]) == 1
    assert "No benchmark begins with nothing" in capsys.readouterr().err
