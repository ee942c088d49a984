"""A lazy value is made at its first use, and once."""

from __future__ import annotations

import pytest

from athena.lazy import Lazy


def test_it_is_made_at_its_first_use() -> None:
    made: list[int] = []
    lazy = Lazy(lambda: made.append(1) or "value")
    assert (lazy.made, made) == (None, [])
    assert (lazy(), lazy(), lazy.made, made) == ("value", "value", "value", [1])


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
