"""Errors: one root, and messages that say what to do."""

from __future__ import annotations

import inspect

import pytest

from pipeline import errors
from pipeline.errors import AthenaError

CLASSES = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__
]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_shows_its_problem_and_its_fix(kind: type[AthenaError]) -> None:
    error = kind("The fan is off.", "Switch it on.")
    assert str(error) == "The fan is off. Switch it on."
    assert (error.problem, error.fix) == ("The fan is off.", "Switch it on.")
    assert isinstance(error, AthenaError)
    assert kind.__doc__
    assert str(AthenaError("The fan is off.")) == "The fan is off."  # without a blank at the end
