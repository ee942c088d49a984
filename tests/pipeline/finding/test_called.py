"""Sections that are called by their title or quoted are told from others."""

from __future__ import annotations

import pytest
from llama_index.core.schema import TextNode

from pipeline.finding.called import called_first, calls
from pipeline.nodes import Node


def section(heading: str, text: str) -> Node:
    return TextNode(id_=heading, text=text, metadata={"heading_path": ("Manual", heading)})


SECTIONS = [
    section("show", "Lists the slots in a table."),
    section("Table of slots and their parts", "| Slot |"),
    section("Fan", "The fan hums at `4200` rpm."),
    section("Air", "The environmental control system, in short ECS, keeps the cabin fit to live in."),
]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("show me the table of slots", "Table of slots and their parts"),
        ('where is "hums at 4200 rpm"', "Fan"),
        ("what is the fan?", "Fan"),
        ("what is ECS", "Air"),
        ("how do I list the slots of the fan?", "show"),
    ],
)
def test_what_is_called_by_name_goes_first(question: str, first: str) -> None:
    assert called_first([item.node_id for item in SECTIONS], SECTIONS, question)[0] == first


def test_a_section_with_a_glossarys_item_goes_before_others_that_are_not_called() -> None:
    first = called_first(SECTIONS, SECTIONS, "what is ECS", explained={"Fan"})
    assert [item.node_id for item in first[:2]] == ["Air", "Fan"]


def test_a_question_of_its_own_calls_nothing() -> None:
    assert calls("how long does the water last?") is None
