"""The error tree: one root, and messages that say what to do."""

from __future__ import annotations

import inspect
import re

import pytest

from pipeline import errors
from pipeline.errors import AthenaError

CLASSES = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__
]


def test_the_docstring_draws_the_tree_as_it_is() -> None:
    lines = (errors.__doc__ or "").splitlines()
    drawn: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in lines:
        found = re.match(r"^([│├└─ ]*)([A-Z]\w+)(?:\s{2,}|$)", line)
        if not found:
            continue
        depth, name = len(found[1]), found[2]
        above = [item for item in above if item[0] < depth]
        drawn[name] = above[-1][1] if above else "Exception"
        above.append((depth, name))
    assert drawn == {kind.__name__: kind.__bases__[0].__name__ for kind in CLASSES}


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_shows_its_problem_and_its_fix(kind: type[AthenaError]) -> None:
    error = kind("The fan is off.", "Switch it on.")
    assert str(error) == "The fan is off. Switch it on."
    assert (error.problem, error.fix) == ("The fan is off.", "Switch it on.")
    assert isinstance(error, AthenaError)
    assert kind.__doc__


def test_without_a_fix_there_is_no_blank_at_the_end() -> None:
    assert str(AthenaError("The fan is off.")) == "The fan is off."
