"""The patterns of users: who comes when, and how he is answered."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from bench.embedded.machine import ProcessorTime
from bench.embedded.plan import Runs
from bench.server import plan
from bench.server.plan import Effort, ServerBench, patterns
from pipeline.stores.server import ServerAddresses


def test_one_user_many_and_many_in_step() -> None:
    single, many, together = patterns(Effort(users=7, seconds=60.0, words_per_second=20.0))
    assert (single.users, many.users, together.users) == (1, 7, 7)
    assert (many.seconds, many.words_per_second, together.words_per_second) == (60.0, 20.0, 20.0)
    assert many.ramp_seconds > 0 and many.spread > 0
    assert (together.ramp_seconds, together.spread) == (0.0, 0.0)


def test_one_user_asks_often_enough_for_a_percentile() -> None:
    single, *_ = patterns(Effort())
    streaming_s = 2 * 135 / single.words_per_second  # a hypothesis and an answer, the longest ones
    assert single.seconds / (streaming_s + 0.6) >= 60


def a_run(*retrieval_ms: float, error: str = "", stolen: int = 0) -> dict[str, list[Any]]:
    """One answer each; the host took so many ticks of 100 in the second half of ten minutes."""
    times = {"first_word_s": 1.0, "answer_s": 2.0, "error": error}
    asked = [
        {"searched_at_s": 100.0 * place, "retrieval_ms": ms, **times} for place, ms in enumerate(retrieval_ms)
    ]
    samples = [
        {"at_s": at_s, "memory_mb": 100.0, "done": done, "stolen": taken}
        for at_s, done, taken in ((0.0, 0, 0), (300.0, 100, 0), (600.0, 200 - stolen, stolen))
    ]
    return {"asked": asked, "samples": samples}


@pytest.mark.parametrize(
    ("reports", "stolen", "tries", "kept"),
    [
        ([a_run(10.0), a_run(20.0)], [0.3, 0.02], 1, 10.0),
        ([a_run(*[9.0] * 6, stolen=50), a_run(20.0)], [0.03, 0.02], 1, 9.0),  # three of six are left alone
        ([a_run(*[9.0] * 7, stolen=50), a_run(20.0)], [0.3, 0.02], 2, 20.0),
        ([a_run(*[9.0] * 7, stolen=50), a_run(*[8.0] * 7, stolen=50)], [0.3, 0.4], 2, 9.0),
    ],
)
def test_a_disturbed_pattern_is_run_again_and_the_least_disturbed_run_counts(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    reports: list[dict[str, list[Any]]],
    stolen: list[float],
    tries: int,
    kept: float,
) -> None:
    left = iter(reports)
    times = iter([time for share in stolen for time in (ProcessorTime(0, 0), _time(share))])
    monkeypatch.setattr(plan, "processor_time", lambda: next(times))
    monkeypatch.setattr(plan, "_load", lambda *_: next(left))
    monkeypatch.setattr(plan, "_steady_model", lambda _: nullcontext("http://model"))
    bench = a_bench(tmp_path)
    runs = Runs("users", bench.say)
    plan._keep(bench, runs, "many", plan._run(bench, tmp_path, patterns(Effort())[1]))
    record = runs.record("users", commit="abc")
    assert set(record.run("many.retrieval_ms")) == {kept}
    assert (record.facts["many_runs"], record.facts["many_stolen"]) == (tries, min(stolen[:tries]))


def test_searches_that_the_host_left_alone_are_kept_beside_all(tmp_path: Path) -> None:
    bench = a_bench(tmp_path)
    runs = Runs("users", bench.say)
    plan._keep(bench, runs, "many", [plan.Done(a_run(10.0, 20.0, 30.0, 40.0, 50.0, stolen=50), 0.2)])
    record = runs.record("users", commit="abc")
    assert record.run("many.retrieval_ms") == [10.0, 20.0, 30.0, 40.0, 50.0]
    assert record.run("many.quiet_retrieval_ms") == [10.0, 20.0, 30.0]
    assert record.run("many.memory_mb") == [100.0] * 3


def test_an_error_of_a_run_that_does_not_count_is_counted(tmp_path: Path) -> None:
    bench = a_bench(tmp_path)
    runs = Runs("users", bench.say)
    done = [plan.Done(a_run(10.0, error="The server is gone."), 0.3), plan.Done(a_run(20.0), 0.01)]
    plan._keep(bench, runs, "many", done)
    assert (runs.facts["many_answers"], runs.facts["many_errors"]) == (1, 1)


def _time(share: float) -> ProcessorTime:
    return ProcessorTime(done=round(1000 * (1 - share)), stolen=round(1000 * share))


def a_bench(folder: Path) -> ServerBench:
    return ServerBench(
        folder, ServerAddresses(mongodb_url="mongodb://localhost"), folder, Effort(), lambda _: None, folder
    )
