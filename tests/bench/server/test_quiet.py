"""Which searches the machine's host left alone, of a report made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from bench.server.quiet import AROUND_S, undisturbed

# Every two seconds 100 ticks of work; from 20 s to 22 s the host takes some of them.
TIMES = [float(second) for second in range(0, 42, 2)]


def a_report(searched_at_s: float, *, taken: int = 50, error: str = "") -> dict[str, list[dict[str, Any]]]:
    samples = [
        {
            "at_s": at_s,
            "memory_mb": 100.0,
            "done": int(50 * at_s) - taken * (at_s >= 22),
            "stolen": taken * (at_s >= 22),
        }
        for at_s in TIMES
    ]
    return {"asked": [{"searched_at_s": searched_at_s, "error": error}], "samples": samples}


@pytest.mark.parametrize(
    ("searched_at_s", "is_quiet"),
    [
        (0.5, True),  # before the first window is full
        (22 - AROUND_S - 4, True),
        (20 - AROUND_S / 2, False),
        (21.0, False),
        (22 + AROUND_S / 2, False),
        (22 + AROUND_S + 2, True),
        (41.0, True),  # after the last sample: a begun answer is ended
    ],
)
def test_a_search_is_left_alone_where_nothing_was_taken_around_it(
    searched_at_s: float, is_quiet: bool
) -> None:
    assert bool([*undisturbed(a_report(searched_at_s))]) is is_quiet


def test_a_twentieth_may_be_taken() -> None:
    assert [*undisturbed(a_report(21.0, taken=20))]
    assert not [*undisturbed(a_report(21.0, taken=30))]


def test_a_question_without_an_answer_is_none() -> None:
    assert not [*undisturbed(a_report(1.0, error="The server is gone."))]
