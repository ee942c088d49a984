"""What questions ask for, by their words."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.datasets import load_queries
from pipeline.asking.kinds import Asked, asked_for


def test_questions_for_all_of_some_things_are_recognised() -> None:
    queries = load_queries(Path(__file__).parents[3] / "evals" / "data" / "lists")
    assert len(queries) == 12
    assert [query.text for query in queries if asked_for(query.text) is not Asked.LIST] == []


@pytest.mark.parametrize("folder", ["manuals", "missions"])
def test_other_questions_are_not_mistaken_for_arranged_ones(folder: str) -> None:
    data = Path(__file__).parents[3] / "evals" / "data"
    asked = [asked_for(query.text) for query in load_queries(data / folder)]
    assert asked.count(Asked.SUMMARISE) == 0
    assert asked.count(Asked.COMPARE) <= len(asked) // 50
