"""What comes back on the radio: a garbled complaint about a wrong key, an answer to what was said."""

from __future__ import annotations

import pytest

from mission.game import Game
from mission.radio import Ground

RIGHT = "COM-SBT-1 QUARRY-47"


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


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("radio check", "Go on by the manuals."),
        ("we have C-112 active", "P-ATM-01"),
        ("ECS-FAN-1 is MALFUNC", "the cabin fan 1"),
        ("fire aboard, is the commander well?", "Air first"),
        ("mayday, smoke, W-123", "then call. For W-123 SMOKE our card says P-AIR-04"),
        ("How is the lander?", "flight day 9"),
        ("what shall I do?", "code of the alarm"),
        ("all restored", "Write it in the log"),
    ],
)
def test_the_ground_answers_what_it_hears(message: str, answer: str) -> None:
    game = Game.start("radio-key")
    game.run("set COM-SBT-1 KEY QUARRY-47")
    game.run(f"transmit {RIGHT} {message}")
    said = game.run(f"receive {RIGHT}")[0]
    assert "QUARRY. Loud and clear" in said
    assert answer in said


@pytest.mark.parametrize(
    ("message", "answer"),
    [("how are you two?", "on paper"), ("I am alone", "looks up"), ("C-112 is on", "P-ATM-01")],
)
def test_the_lander_answers_for_itself(message: str, answer: str) -> None:
    game = Game.start("radio-key")
    game.run(f"transmit COM-VHF-1 SANDPIPER-04 {message}")
    said = game.run("receive COM-VHF-1 SANDPIPER-04")[0]
    assert "SANDPIPER. Loud and clear. We copy." in said
    assert answer in said
    assert "forty" not in said


def answer_of(ground: Ground, message: str) -> str:
    """What the radio brings back where a model speaks for the ground."""
    game = Game.start("radio-key")
    game.ground = ground
    game.run("set COM-SBT-1 KEY QUARRY-47")
    game.run(f"transmit {RIGHT} {message}")
    return game.run(f"receive {RIGHT}")[0]


def test_a_model_speaks_for_the_ground_by_its_card() -> None:
    heard: list[tuple[str, str]] = []

    def ground(message: str, ruled: str) -> str:
        heard.append((message, ruled))
        return "Easy now, Halcyon.\nThe card for C-112 is P-ATM-01."

    assert answer_of(ground, "C-112 is on").endswith(
        "copies. Easy now, Halcyon. The card for C-112 is P-ATM-01."
    )
    (message, ruled) = heard[0]
    assert message == "C-112 is on"
    assert "P-ATM-01" in ruled


@pytest.mark.parametrize("words", ["", "Power off ECS-FAN-1 at once.", "Do P-EPS-04.", "So. " * 100])
def test_a_model_that_says_nothing_too_much_or_names_what_it_was_not_told_is_not_heard(words: str) -> None:
    assert answer_of(lambda *_: words, "hello, C-112 is on").endswith("tell us when it is done.")


def test_no_answer_is_put_into_words_where_none_comes_back() -> None:
    game = Game.start("radio-key")
    game.ground = lambda *_: pytest.fail("nobody heard it")
    assert game.run("transmit COM-SBT-1 MESA-47 hello")[0].startswith("E-08")
    said = game.run(f"transmit {RIGHT} hello")[0]
    assert said.startswith("COM-SBT-1 sent the message, but its own KEY is MESA-31")
