"""What comes back on the radio: a garbled complaint about a wrong key, an answer to what was said."""

from __future__ import annotations

import pytest

from mission.game import Game


@pytest.mark.parametrize(
    ("key", "hints", "not_said"),
    [
        ("MESA-47", "this is Q..Y, not MESA", "the num"),
        ("QUARRY-31", "31? ...at is not the unit", "this is"),
        ("MESA-31", "31? ...at is not the unit", "QUARRY"),
    ],
)
def test_a_wrong_key_is_answered_with_what_is_wrong_about_it(key: str, hints: str, not_said: str) -> None:
    game = Game.start("radio-key")
    refused, said = game.run(f"transmit COM-SBT-1 {key} hello")[:2]
    assert refused.startswith("E-08 KEY REFUSED")
    assert said.startswith("On the air:")
    assert hints in said
    assert not_said not in said
    assert "47" not in said.replace(key, "")


def test_an_answer_comes_back_where_both_keys_are_right() -> None:
    game = Game.start("radio-key")
    assert "own KEY is MESA-31" in game.run("transmit COM-SBT-1 QUARRY-47 hello")[0]
    game.run("set COM-SBT-1 KEY QUARRY-47")
    game.run("transmit COM-SBT-1 QUARRY-47 hello")
    assert "QUARRY. Loud and clear" in game.run("receive COM-SBT-1 QUARRY-47")[0]
