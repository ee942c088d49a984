"""Batches are worked on one ahead: the order stays, and what was worked on is not lost to a later failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pipeline.ingesting.batches import one_ahead

SECONDS = 5


def test_every_item_comes_with_its_result_in_order() -> None:
    assert list(one_ahead(lambda item: item * 2, range(4))) == [(0, 0), (1, 2), (2, 4), (3, 6)]
    assert list(one_ahead(lambda item: item, [])) == []


def test_an_item_is_worked_on_while_the_former_is_used_and_the_next_is_made() -> None:
    next_made, former_used = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        yield 0
        next_made.set()
        yield 1

    def work(item: int) -> bool:
        return (next_made, former_used)[item].wait(SECONDS)

    results = []
    for item, came in one_ahead(work, items()):
        former_used.set()
        results.append((item, came))
    assert results == [(0, True), (1, True)]


def test_a_failure_comes_after_what_was_done_before() -> None:
    def work(item: int) -> int:
        if item == 1:
            raise ValueError("the second one")
        return item

    used = []
    with pytest.raises(ValueError, match="the second one"):
        for item, _ in one_ahead(work, range(3)):
            used.append(item)
    assert used == [0]


def test_leaving_early_waits_for_the_work_at_hand() -> None:
    begun, done = threading.Event(), threading.Event()

    def work(item: int) -> None:
        if item:
            begun.set()
            done.wait(0.05)
            done.set()

    ahead = one_ahead(work, range(3))
    next(ahead)
    assert begun.wait(SECONDS)
    ahead.close()  # type: ignore[attr-defined]
    assert done.is_set()
