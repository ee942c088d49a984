"""The pages of benchmarks: those in `docs/` are made of the numbers beside them, and targets are judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench import embedded_page, memory_page, server_page
from bench.athena import ROOT
from bench.machine import Machine
from bench.memory import main
from bench.results import Record, Results, read_results
from bench.scripts import ACTED, GROWTH, NOW, RETIRED, load_scripts
from bench.table import Target

DOCS = ROOT / "docs"
MACHINE = Machine("Some CPU", 2, True, 24.0, "Linux x86_64", {"python": "3.11.7"})
WHEN = "2026-01-02T03:04:05+00:00"


def memory(results: Results) -> str:
    return memory_page.to_markdown(results, count=len(load_scripts()))


@pytest.mark.parametrize(
    ("name", "to_markdown"),
    [
        ("benchmarks", embedded_page.to_markdown),
        ("benchmarks-server", server_page.to_markdown),
        ("benchmarks-memory", memory),
    ],
)
def test_the_page_has_what_was_measured(name: str, to_markdown) -> None:  # type: ignore[no-untyped-def]
    measured = read_results(DOCS / f"{name}.json")
    assert to_markdown(measured) == (DOCS / f"{name}.md").read_text(encoding="utf-8")


def record(name: str, runs: dict[str, list[float]], **facts: int | float | str) -> Record:
    return Record(name, WHEN, {"commit": "abc123", **facts}, runs)


def found(*records: Record, vnni: bool = True) -> dict[str, Target]:
    results = Results(replace(MACHINE, vnni=vnni), {item.name: item for item in records})
    return {target.what: target for target in embedded_page.targets(results)}


INGESTED = record("rust-book:athena", {"ingest_seconds": [22.0, 18.0, 20.0]}, passages=10_000)
"""The median is 20 s: 500 passages a second."""


@pytest.mark.parametrize(
    ("passages", "vnni", "measured", "holds"),
    [(8_000, True, "5.0×", True), (9_000, True, "4.4×", False), (9_000, False, "4.4×", True)],
)
def test_ingest_is_compared_by_passages_a_second(
    passages: int, vnni: bool, measured: str, holds: bool
) -> None:
    other = record("rust-book:llamaindex", {"ingest_seconds": [80.0]}, passages=passages)
    row = found(INGESTED, other, vnni=vnni)[
        "ingest of rust-book, passages a second, times LlamaIndex's, as documented"
    ]
    assert (row.measured, row.holds) == (measured, holds)


@pytest.mark.parametrize(
    ("name", "runs", "what", "holds"),
    [
        ("ask", {"ask_seconds": [9.0, 3.4, 3.5]}, "`athena ask` on the manuals, a new process", True),
        ("ask", {"ask_seconds": [3.4, 3.6, 3.6]}, "`athena ask` on the manuals, a new process", False),
        ("opensearch-docs:athena", {"query_ms": [39.0] * 3}, "search, p95, over 5 sentences", True),
        ("opensearch-docs:athena", {"query_ms": [41.0] * 3}, "search, p95, over 5 sentences", False),
        (
            "opensearch-docs:athena",
            {"ingest_peak_mb": [400.0], "query_peak_mb": [901.0]},
            "peak memory, over 5 sentences",
            False,
        ),
        ("setup", {"run.megabytes": [806.0]}, "core environment", False),
        ("setup", {"run.megabytes": [806.0]}, "… set up in", None),
        ("scifact:athena", {"nDCG@10": [0.7, 0.8] * 150}, "SciFact test, nDCG@10", True),
    ],
)
def test_a_target_holds_or_not(name: str, runs: dict[str, list[float]], what: str, holds: bool) -> None:
    assert found(record(name, runs, passages=5))[what].holds is holds


def test_what_was_not_measured_neither_holds_nor_fails_and_a_failure_says_why() -> None:
    assert {target.holds for target in found().values()} == {None}
    failed = Record("setup", WHEN, {"error": "No package index."}, {})
    assert found(failed)["core environment"].measured == "could not be measured: No package index."
    peer = Record("rust-book:haiku.rag", WHEN, {"error": "No Python 3.12."}, {})
    page = embedded_page.to_markdown(Results(MACHINE, {item.name: item for item in (INGESTED, peer)}))
    assert "haiku.rag could not be measured: No Python 3.12." in page


def test_what_disturbed_a_run_is_said() -> None:
    disturbed = record("ask", {"ask_seconds": [2.0]}, load_before=4.2, stolen=0.31)
    page = embedded_page.to_markdown(Results(MACHINE, {"ask": disturbed}))
    assert "abc123, load average before 4.2, 31% of the work waited for the machine's host" in page


@pytest.mark.parametrize(
    ("ratios", "holds"),
    [
        ([2.0, 2.1, 2.2], True),  # 1.9 to 2.4
        ([2.0, 3.0, 2.5], None),  # 1.5 to 4.0: the interval holds the target
        ([5.0, 5.1, 5.2], False),
        ([2.0], None),  # one round has no interval
        ([], None),
    ],
)
def test_a_ratio_has_a_mark_only_where_its_interval_leaves_no_doubt(
    ratios: list[float], holds: bool | None
) -> None:
    assert server_page.ratio_row(ratios).holds is holds


@pytest.mark.parametrize(("late", "holds"), [(315.0, True), (316.0, False)])
def test_memory_may_grow_by_a_twentieth(late: float, holds: bool) -> None:
    row = server_page.memory_row(record("users", {"early_memory_mb": [300.0], "late_memory_mb": [late]}))
    assert row.holds is holds


def test_a_presets_targets_have_marks() -> None:
    runs = {NOW: [1.0] * 19 + [0.0], RETIRED: [0.0, 1.0], GROWTH: [1.0, 1.5], ACTED: [0.0, 0.0]}
    speed = {"read_ms": [10.0] * 9 + [40.0]}
    records = {item.name: item for item in (record("scripts agent", runs), record("speed agent", speed))}
    rows = {
        line.split(" | ")[0].strip("| "): line.split(" | ")
        for line in memory(Results(MACHINE, records)).splitlines()
        if " | " in line
    }
    cells = {name: rows[name][3] for name in (NOW, RETIRED, GROWTH, ACTED, "read, p50", "read, p95")}
    assert [*cells.values()] == [
        "0.95 (20) ✓", "1 (2) ✗", "1.50 (2) ✗", "0 (2) ✓", "10.0 ms", "40.0 ms ✗"
    ]  # fmt: skip
    assert rows[NOW][1] == "–"


def test_a_short_run_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--memories", "30", "--times", "2", "--out", str(tmp_path), "--only"]
    assert main([*options, "turns"]) == 0
    page = (tmp_path / "benchmarks-memory.md").read_text(encoding="utf-8")
    assert "At 30 turns a search takes" in page
    assert main([*options, "nothing"]) == 1
    assert "There is no benchmark 'nothing'" in capsys.readouterr().err
