"""What a text names is found with its kind, once for all ways to write it."""

from __future__ import annotations

import pytest

from memory.reading.entities import entities_in, normalised
from tests.memory.tables import rows


def named(text: str) -> list[str]:
    found = entities_in(text)
    for entity in found:
        assert " ".join(text[entity.start : entity.end].split()) == entity.name
        assert normalised(entity.name) == entity.normalised
    return sorted(f"{entity.kind.value}: {entity.name}" for entity in found)


def test_kinds() -> None:
    """Each row: the text, and what it names."""
    table = rows("reading/entities.tsv")
    assert [(text, named(text)) for text, *expected in table if named(text) != sorted(expected)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C105", "C-105"),
        ("C 105", "c-105"),
        ("fan one", "Fan 1"),
        ("the cabin fan", "Cabin  Fan"),
        ("`parse()`", "parse"),
        ("*Halcyon*", "halcyon"),
        ("Rust’s", "rust"),
    ],
)
def test_names_are_equal_however_they_are_written(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


def test_other_things_keep_other_names() -> None:
    assert normalised("fan 1") != normalised("fan 2")
    assert normalised("in 2024") == "in 2024"
