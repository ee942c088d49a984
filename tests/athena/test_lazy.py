"""A lazy value is made once, also where several threads ask for it at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from athena.lazy import Lazy


def test_it_is_made_at_its_first_use() -> None:
    made: list[int] = []
    lazy = Lazy(lambda: made.append(1) or "value")
    assert (lazy.made, made) == (None, [])
    assert (lazy(), lazy(), lazy.made, made) == ("value", "value", "value", [1])


def test_several_threads_get_the_same_value() -> None:
    barrier = threading.Barrier(4)

    def get(lazy: Lazy[object]) -> object:
        barrier.wait()
        return lazy()

    lazy: Lazy[object] = Lazy(object)
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(get, [lazy] * 4))) == 1


def test_a_failure_is_not_kept() -> None:
    answers = iter([ZeroDivisionError(), "value"])

    def make() -> object:
        if isinstance(answer := next(answers), Exception):
            raise answer
        return answer

    lazy = Lazy(make)
    with pytest.raises(ZeroDivisionError):
        lazy()
    assert lazy() == "value"
