"""Numbers with their nouns."""

from __future__ import annotations

from pipeline.words import counted


def test_one_is_singular() -> None:
    assert [counted(number, "row") for number in (0, 1, 2, 1200)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1,200 rows",
    ]
