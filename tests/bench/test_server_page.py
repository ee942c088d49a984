"""The table of the server mode's benchmark: hand-worked numbers on both sides of each target."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.machine import Machine
from bench.results import Record, Results
from bench.server_page import ingest_rows, memory_row, ratio_row, to_markdown, user_rows

MACHINE = Machine("A CPU", 2, True, 8.0, "Linux x86_64", {"athena": "abc", "Weaviate": "1.36.0"})
FACTS = {
    "users": 20,
    "seconds": 600.0,
    "rounds": 3,
    "single_answers": 3,
    "single_errors": 0,
    "many_answers": 1040,
    "many_errors": 0,
    "together_answers": 5,
    "together_errors": 1,
}
RUNS = {
    "single.retrieval_ms": [10.0, 20.0, 30.0],
    "many.retrieval_ms": [20.0, 40.0, 89.0],
    "together.retrieval_ms": [60.0, 90.0, 300.0],
    "before_p95_ms": [28.0, 31.0],
    "after_p95_ms": [30.0, 29.0],
    "p95_ratio": [2.0, 2.0, 2.0],
    "many.first_word_s": [2.0],
    "many.answer_s": [5.0],
    "early_memory_mb": [300.0],
    "late_memory_mb": [315.0],
}
USERS = Record("users", "2026-01-01T00:00:00+00:00", FACTS, RUNS)
INGEST = Record(
    "ingest",
    "2026-01-01T00:00:00+00:00",
    {"folder": "manuals", "sentences": 1200},
    {"embedded.ingest_seconds": [70.0], "server.ingest_seconds": [100.0]},
)


def test_errors_have_a_mark_and_times_have_none() -> None:
    rows = {row.what: row for row in user_rows(USERS)}
    many = rows["answers and errors, 20 users, 3 times 10 min"]
    assert (many.measured, many.holds) == ("1,040 and 0", True)
    assert rows["answers and errors, 20 users in step"].holds is False
    high = rows["search, many users, p50 / p95"]
    assert (high.measured, high.holds) == ("40.0 ms / 89.0 ms", None)
    assert rows["search, one user, p95 before / after, by round"].measured == "28 / 30 ms, 31 / 29 ms"
    assert rows["whole answer, many users, p50"].measured == "5.00 s"


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
def test_the_ratio_has_a_mark_only_where_its_interval_leaves_no_doubt(
    ratios: list[float], holds: bool | None
) -> None:
    assert ratio_row(ratios).holds is holds


def test_the_ratio_is_shown_with_its_interval() -> None:
    row = ratio_row([2.0, 2.1, 2.2])
    assert (row.what, row.measured) == ("p95 of many over one, 3 rounds [95 %]", "2.1× [1.9×, 2.4×]")


@pytest.mark.parametrize(("late", "holds"), [(315.0, True), (316.0, False)])
def test_memory_may_grow_by_a_twentieth(late: float, holds: bool) -> None:
    row = memory_row(replace(USERS, runs=RUNS | {"late_memory_mb": [late]}))
    assert row.holds is holds
    assert row.measured.startswith(f"300 MB, {late:,.0f} MB: +5.")


def test_ingest_is_shown_for_both_stores() -> None:
    both, speed = ingest_rows(INGEST)
    assert both.what == "ingest of manuals (1,200 sentences), embedded / servers"
    assert (both.measured, speed.measured) == ("70 s / 100 s", "70%")


def test_the_page_names_what_was_measured() -> None:
    page = to_markdown(Results(MACHINE, {"users": USERS, "ingest": INGEST}))
    assert "| what | measured | target |  |" in page
    assert "Measured on: A CPU, 2 cores, with VNNI" in page
    assert "Weaviate 1.36.0" in page


def test_nothing_measured_has_no_rows() -> None:
    page = to_markdown(Results(MACHINE))
    assert "answers and errors" not in page and "ingest of" not in page
