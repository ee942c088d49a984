"""Numbers with their nouns, and texts of others as a terminal takes them."""

from __future__ import annotations

from pipeline.words import counted, harmless, harmless_json


def test_one_is_singular() -> None:
    said = ", ".join(counted(number, "row") for number in (0, 1, 2))
    assert (said, counted(1200, "row")) == ("0 rows, 1 row, 2 rows", "1,200 rows")


def test_what_turns_the_direction_of_writing_is_shown_and_not_obeyed() -> None:
    turning = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
    assert [harmless(f"a{one}b") for one in turning] == ["a\ufffdb"] * 9
    assert [harmless_json(one) for one in turning] == [f"\\u{ord(one):04x}" for one in turning]
