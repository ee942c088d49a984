"""The patterns of users: who comes when, and how he is answered."""

from __future__ import annotations

from evals.server_bench.plan import Effort, patterns


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
