"""A lazy value is made at its first use, and once; a failure is not kept."""

from __future__ import annotations

import pytest

from athena.lazy import Lazy


def test_a_value_is_kept_and_a_failure_is_not() -> None:
    answers = iter([ZeroDivisionError(), "value"])  # it is asked twice at most

    def make() -> object:
        if isinstance(answer := next(answers), Exception):
            raise answer
        return answer

    lazy = Lazy(make)
    with pytest.raises(ZeroDivisionError):
        lazy()
    assert (lazy.made, lazy(), lazy(), lazy.made) == (None, "value", "value", "value")
