"""The patterns of users: who comes when, how he is answered, and what is kept of a round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import server as plan
from bench.results import Runs
from bench.server import Effort, ServerBench, keep_round
from pipeline.stores.server import ServerAddresses


def a_bench(folder: Path, effort: Effort | None = None) -> ServerBench:
    addresses = ServerAddresses(mongodb_url="mongodb://localhost")
    return ServerBench(folder, addresses, folder, effort or Effort(), lambda _: None)


def a_report(
    *retrieval_ms: float, error: str = "", memory: list[float] | None = None
) -> dict[str, list[Any]]:
    times = {"first_word_s": 1.0, "answer_s": 2.0}
    asked = [{"retrieval_ms": ms, "error": "", **times} for ms in retrieval_ms]
    asked += [{"retrieval_ms": 0.0, "error": error, **times}] if error else []
    return {"asked": asked, "memory_mb": memory or [100.0]}


def test_the_many_stand_between_one_user_and_the_same_again(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, Effort(users=7, seconds=60.0, words_per_second=20.0))
    before, many, after = bench.round()
    assert before == after and before.users == 1
    assert (many.users, many.seconds, many.words_per_second) == (7, 60.0, 20.0)
    assert many.ramp_seconds > 0 and many.spread > 0
    together = bench.together
    assert (together.users, together.ramp_seconds, together.spread) == (7, 0.0, 0.0)


def test_one_user_asks_often_enough_for_a_percentile(tmp_path: Path) -> None:
    single, *_ = a_bench(tmp_path).round()
    streaming_s = 2 * 135 / single.words_per_second  # a hypothesis and an answer, the longest ones
    assert 2 * single.seconds / (streaming_s + 0.6) >= 60


def test_a_round_is_compared_with_one_user_before_and_after() -> None:
    runs = Runs("users", lambda _: None)
    memory = [float(mb) for mb in range(100, 110)]
    keep_round(runs, [a_report(10.0, 20.0), a_report(90.0, 60.0, memory=memory), a_report(30.0)])
    record = runs.record(commit="abc")
    assert record.run("single.retrieval_ms") == [10.0, 20.0, 30.0]
    assert (record.run("before_p95_ms"), record.run("after_p95_ms")) == ([20.0], [30.0])
    assert record.run("p95_ratio") == [3.0]  # 90 over 30
    assert record.run("early_memory_mb") == [102.0, 103.0]  # the second fifth
    assert record.run("late_memory_mb") == [108.0, 109.0]  # the last
    assert record.run("many.answer_s") == [2.0, 2.0]


def test_errors_of_all_rounds_are_counted_and_said_once_each() -> None:
    said: list[str] = []
    runs = Runs("users", said.append)
    failed = a_report(10.0, error="The server is gone.")
    for _ in range(2):
        keep_round(runs, [a_report(1.0), failed, a_report(1.0)])
    assert (runs.facts["many_answers"], runs.facts["many_errors"]) == (2, 2)
    assert (runs.facts["single_answers"], runs.facts["single_errors"]) == (4, 0)
    assert said.count("error: The server is gone.") == 2


def test_rounds_come_first_and_then_users_in_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[str] = []

    def load(bench: ServerBench, questions: Path, pattern: plan.Pattern) -> dict[str, list[Any]]:
        met.append(pattern.name)
        return a_report(10.0)

    monkeypatch.setattr(plan, "_load", load)
    monkeypatch.setattr(plan.AthenaSide, "ingest", lambda *_: None)
    record = plan.users(a_bench(tmp_path, Effort(rounds=2))).record(commit="abc")
    assert met == ["single", "many", "single"] * 2 + ["together"]
    assert record.run("p95_ratio") == [1.0, 1.0]
    assert record.facts["together_answers"] == 1
