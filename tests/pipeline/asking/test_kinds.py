"""What questions ask for, by their words."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.datasets import load_queries
from pipeline.asking.kinds import Asked, asked_for


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("List all alarms of the cabin", Asked.LIST),
        ("what are all the status colours", Asked.LIST),
        ("Compare Box and Rc", Asked.COMPARE),
        ("what is the difference between String and &str?", Asked.COMPARE),
        ("how is a warning different from a caution", Asked.COMPARE),
        ("Summarise the power system", Asked.SUMMARISE),
        ("can you give me a short overview of the cabin fan?", Asked.SUMMARISE),
        ("Tell me about the LOX tanks", Asked.SUMMARISE),
        ("summary alarm", Asked.OTHER),
        ("how does the overview page work", Asked.OTHER),
        ("LOX vs LN2", Asked.COMPARE),
        ("how long does the fuel cell warm up", Asked.HOW_LONG),
        ("how many amps can the bus carry", Asked.HOW_MANY),
        ("what's the max CO2", Asked.HOW_MANY),
        ("who created Rust?", Asked.WHO),
        ("when was the fan replaced", Asked.WHEN),
        ("when the fan stops, what do I do?", Asked.HOW_TO),
        ("where is the spare filter", Asked.WHERE),
        ("why is ECS-LN2-T2 red", Asked.WHY),
        ("How do I shed load?", Asked.HOW_TO),
        ("The cabin fan stopped. What now?", Asked.HOW_TO),
        ("the scrubber is broken what should i do", Asked.HOW_TO),
        ("What is ownership?", Asked.DEFINE),
        ("what does W-202 mean", Asked.DEFINE),
        ("which valve is the spare one", Asked.WHICH),
        ("is it safe to open the hatch", Asked.WHETHER),
        ("bus A is dead, half of the ship is dark", Asked.OTHER),
        ("", Asked.OTHER),
    ],
)
def test_what_is_asked_for(question: str, asked: Asked) -> None:
    assert asked_for(question) is asked


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
