"""The table of the server mode's benchmark: hand-worked numbers on both sides of each target."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.embedded.machine import Machine
from bench.embedded.results import Record, Results
from bench.server.table import ingest_rows, memory_row, to_markdown, user_rows

MACHINE = Machine("A CPU", 2, True, 8.0, "Linux x86_64", {"athena": "abc", "Weaviate": "1.36.0"})
FACTS = {
    "users": 20,
    "seconds": 600.0,
    "single_answers": 3,
    "single_errors": 0,
    "many_answers": 40,
    "many_errors": 0,
    "together_seconds": 100.0,
    "together_answers": 5,
    "together_errors": 0,
}
RUNS = {
    "single.retrieval_ms": [10.0, 20.0, 30.0],
    "many.retrieval_ms": [20.0, 40.0, 89.0],
    "together.retrieval_ms": [60.0, 90.0, 300.0],
    "many.first_word_s": [2.0],
    "many.answer_s": [5.0],
    "many.memory_mb": [100.0, 300.0, 310.0, 320.0, 320.0],
}
USERS = Record("users", "2026-01-01T00:00:00+00:00", FACTS, RUNS)
INGEST = Record(
    "ingest",
    "2026-01-01T00:00:00+00:00",
    {"folder": "manuals", "sentences": 1200},
    {"embedded.ingest_seconds": [70.0], "server.ingest_seconds": [100.0]},
)


def test_users_without_errors_and_below_three_times_hold() -> None:
    rows = {row.what: row for row in user_rows(USERS)}
    answers = rows["answers and errors, 20 users for 10 min"]
    assert (answers.one, answers.many, answers.holds) == ("3 and 0", "40 and 0", True)
    high = rows["retrieval, p95"]
    assert (high.one, high.many, high.ratio, high.holds) == ("30 ms", "89 ms", "3.0×", True)
    assert rows["retrieval, p50"].ratio == "2.0×"
    assert (rows["whole answer, p50"].one, rows["whole answer, p50"].many) == ("", "5.0 s")


def test_what_the_host_took_is_told() -> None:
    record = replace(USERS, facts=FACTS | {"single_stolen": 0.004, "many_stolen": 0.21})
    row = {row.what: row for row in user_rows(record)}["work that waited for the machine's host"]
    assert (row.one, row.many, row.holds) == ("0%", "21%", None)


def test_searches_that_the_host_left_alone_are_shown_with_their_number_and_without_a_target() -> None:
    quiet = {
        "single.quiet_retrieval_ms": [20.0],
        "many.quiet_retrieval_ms": [50.0, 59.0],
        "together.quiet_retrieval_ms": [80.0],
    }
    record = replace(USERS, runs=RUNS | quiet | {"many.retrieval_ms": [90.0]})
    rows = {row.what: row for row in user_rows(record)}
    assert (rows["retrieval, p95"].target, rows["retrieval, p95"].holds) == ("< 3×", False)
    row = rows["retrieval, p95, left alone (1 and 2)"]
    assert (row.one, row.many, row.ratio, row.target, row.holds) == ("20 ms", "59 ms", "3.0×", "", None)
    in_step = rows["retrieval in step, p95, left alone (1 and 1)"]
    assert (in_step.many, in_step.ratio, in_step.holds) == ("80 ms", "4.0×", None)


def test_users_in_step_are_told_with_their_errors_and_without_a_target() -> None:
    rows = {row.what: row for row in user_rows(USERS)}
    assert rows["answers and errors, 20 users in step for 100 s"].holds is True
    high = rows["retrieval in step, p95"]
    assert (high.one, high.many, high.ratio, high.holds) == ("30 ms", "300 ms", "10.0×", None)
    failed = replace(USERS, facts=FACTS | {"together_errors": 1})
    assert [row.holds for row in user_rows(failed)][:2] == [True, False]


def test_a_record_of_before_has_no_users_in_step() -> None:
    facts = {name: fact for name, fact in FACTS.items() if not name.startswith("together")}
    runs = {name: run for name, run in RUNS.items() if not name.startswith("together")}
    rows = {row.what: row for row in user_rows(replace(USERS, facts=facts, runs=runs))}
    assert "retrieval, p95" in rows and not [what for what in rows if "in step" in what]


def test_three_times_exactly_does_not_hold() -> None:
    record = replace(USERS, runs=RUNS | {"many.retrieval_ms": [90.0]})
    assert next(row for row in user_rows(record) if row.what == "retrieval, p95").holds is False


def test_one_error_and_no_answer_at_all_do_not_hold() -> None:
    one_error = replace(USERS, facts=FACTS | {"many_errors": 1})
    assert next(iter(user_rows(one_error))).holds is False
    silence = replace(USERS, runs=RUNS | {"many.retrieval_ms": []})
    assert next(iter(user_rows(silence))).holds is False


@pytest.mark.parametrize(
    ("samples", "growth", "holds"),
    [
        ([500.0, 100.0, 100.0, 100.0, 105.0], "+5.0 %", True),  # what is loaded first does not count
        ([50.0, 100.0, 100.0, 100.0, 106.0], "+6.0 %", False),
        ([100.0, 100.0, 100.0, 100.0, 90.0], "-10.0 %", True),
    ],
)
def test_memory_is_compared_between_the_second_and_the_last_fifth(
    samples: list[float], growth: str, holds: bool
) -> None:
    row = memory_row(samples)
    assert (row.ratio, row.holds) == (growth, holds)


def test_memory_that_was_not_sampled_has_no_verdict() -> None:
    assert memory_row([]).holds is None


def test_an_ingest_at_seventy_percent_of_the_speed_holds() -> None:
    (row,) = ingest_rows(INGEST)
    assert (row.what, row.one, row.many) == ("ingest of manuals (1,200 sentences)", "70 s", "100 s")
    assert (row.ratio, row.holds) == ("70 % of the speed", True)
    slower = replace(INGEST, runs=INGEST.runs | {"server.ingest_seconds": [101.0]})
    assert next(iter(ingest_rows(slower))).holds is False


def test_the_page_says_what_stood_in_mongodbs_place_and_leaves_out_what_was_not_run() -> None:
    page = to_markdown(Results(MACHINE, {"ingest": INGEST}))
    assert "no number here is MongoDB's" in page
    assert "ingest of manuals" in page and "retrieval, p95" not in page
    assert "Weaviate 1.36.0" in page and "| ✓ |" in page
