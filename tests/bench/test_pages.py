"""The pages of benchmarks: those in `docs/` are made of the numbers beside them, and targets are judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench import embedded_page
from bench.athena import ROOT
from bench.machine import Machine
from bench.results import Record, Results, read_results
from bench.table import Target

DOCS = ROOT / "docs"
MACHINE = Machine("Some CPU", 2, True, 24.0, "Linux x86_64", {"python": "3.11.7"})
WHEN = "2026-01-02T03:04:05+00:00"


def test_the_page_has_what_was_measured() -> None:
    measured = read_results(DOCS / "benchmarks.json")
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert embedded_page.to_markdown(measured) == page


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
