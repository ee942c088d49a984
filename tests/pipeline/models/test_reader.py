"""Characters that a server cut in two come out whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.models.reader import CharacterJoiner


def joined(*pieces: str) -> list[str]:
    joiner = CharacterJoiner()
    return [joiner.join(piece) for piece in pieces]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["a\ud83d", "\ude80b"], ["a", "🚀b"]),
        (["\ud83d", "", "\ude80"], ["", "", "🚀"]),
        (["🚀", "ü"], ["🚀", "ü"]),
        (["\ud83d", "x"], ["", "\ufffdx"]),
        (["\ude80x"], ["\ufffdx"]),
        (["x\ud83d"], ["x"]),
    ],
)
def test_halves_meet_and_lone_ones_are_replaced(pieces: list[str], expected: list[str]) -> None:
    assert joined(*pieces) == expected


@given(st.lists(st.text()))
def test_whole_text_passes_unchanged(pieces: list[str]) -> None:
    assert joined(*pieces) == pieces


@given(st.lists(st.text(st.characters(codec=None))))
def test_whatever_comes_can_be_stored(pieces: list[str]) -> None:
    assert "".join(joined(*pieces)).encode("utf-8") is not None
