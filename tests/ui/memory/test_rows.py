"""What the list says of each memory, and what can be done to it."""

from __future__ import annotations

import pytest

from memory.recall import FoundMemory
from pipeline.stores.memories import MemorySource
from tests.contracts.memories import memory
from ui.conversation.memory_rows import found_rows, row, rows, source_label

DAY = 86_400.0


@pytest.mark.parametrize(
    ("sources", "label"),
    [
        ((), ""),
        ((MemorySource(turn_id="t", quote="a"),), "Your words"),
        ((MemorySource(turn_id="t"), MemorySource(source="valves.md")), "Your words"),
        ((MemorySource(source="valves.md"),), "valves.md"),
        ((MemorySource(memory_id="m"),), "Made of 1 memory"),
        ((MemorySource(quote="of a deleted conversation"),), "Your words"),
    ],
)
def test_where_it_comes_from(sources: tuple[MemorySource, ...], label: str) -> None:
    assert source_label(memory(sources=sources)) == label


def test_what_must_be_known_of_it() -> None:
    told = row(memory(trusted=False, ended_at=9 * DAY))
    assert [mark["words"] for mark in told["marks"]] == [
        "no longer true", "reads like an instruction: never acted on",
    ]  # fmt: skip
    assert row(memory())["marks"] == []


def test_the_personas_memories_are_immutable_and_imported_ones_can_be_forgotten() -> None:
    own, imported = memory(tier="static"), memory(tier="static")
    first, second = rows([own, imported], fixed=frozenset({own.id}))
    assert first["acts"] == []
    assert [act["name"] for act in second["acts"]] == ["forget"]


def test_since_when() -> None:
    noon = 12 * 3600.0
    assert row(memory(created_at=noon))["when"].startswith("1970-01-01 ")
    told = row(memory(created_at=2 * DAY + noon, ended_at=5 * DAY + noon))
    assert told["when"].endswith(" until 1970-01-06")


def test_the_score_and_what_it_is_made_of() -> None:
    found = FoundMemory(memory=memory(), score=0.75, recency=1.0, relevance=0.5)
    [told] = found_rows([found])
    assert told["score"] == {"value": "0.75", "share": 0.5,
                             "parts": "relevance 0.50, recency 1.00"}  # fmt: skip
