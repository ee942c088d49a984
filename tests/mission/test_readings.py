"""Easy mode answers from the ship itself; normal mode tells nothing of it."""

from __future__ import annotations

import pytest

from mission.game import Game
from mission.levels import all_levels
from mission.readings import answer
from mission.ship import Ship
from mission.state import ShipState

WRONG = "what is wrong with the ship?"
FIRST = {
    "ln2-tank": ("ECS-LN2-T1", "P-ATM-01"),
    "two-levels-down": ("EPS-INV-1", "P-EPS-04"),
    "coolant-pump": ("ECS-CLP-1", "P-THM-01"),
    "radio-key": ("COM-SBT-1", "P-COM-02"),
    "mixture": ("W-103", "P-ATM-04"),
    "headache": ("ECS-CAB-S1 shows 0.17", "P-ECS-02"),
    "co2-race": ("ECS-CO2-A", "P-AIR-03"),
    "main-bus": ("EPS-BUS-A", "P-EPS-01"),
    "hot-computer": ("ECS-CLP-2", "P-"),
    "red-needle": ("ECS-CAB-S1 shows 66.4 and ECS-CAB-S2 73.3", "P-ECS-02"),
    "nobody-answers": ("GNC-IMU-1", "P-GNC-01"),
}


@pytest.mark.parametrize("level", FIRST)
def test_the_cause_comes_first_with_its_procedure(level: str) -> None:
    lines = Game.start(level, easy=True).readings(WRONG)
    cause, procedure = FIRST[level]
    assert cause in lines[1], lines
    assert procedure in lines[1], lines


@pytest.mark.parametrize("level", list(all_levels()))
def test_normal_mode_does_not_tell_telemetry(level: str) -> None:
    game = Game.start(level)
    for question in (WRONG, "what is the CO2?", "is ECS-FAN-1 running?"):
        assert game.readings(question) == []
        assert game.run(f"ask {question}")[0].startswith("E-10")


def test_without_a_model_the_console_answers_in_easy_mode() -> None:
    game = Game.start("co2-race", easy=True)
    lines = game.run("ask what is the CO2?")
    assert lines[0].startswith("From the telemetry at 05:10")
    assert "ECS-CAB-S1 PPCO2 is 1.8" in lines[1]
    assert "OUT OF LIMITS" in lines[1]


def test_the_quotes_of_the_manuals_follow_the_readings() -> None:
    game = Game.start("ln2-tank", easy=True, ask=lambda question, telemetry: "P-ATM-01 says")
    lines = game.run(f"ask {WRONG}")
    assert "ECS-LN2-T1" in lines[1]
    assert lines[-1] == "P-ATM-01 says"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what is the oxygen?", "PPO2 is 21.0"),
        ("how warm is it?", "TEMP is 22.0"),
        ("what is the cabin pressure now", "PRESSURE is 70.0"),
        ("is the pressure ok", "PRESSURE is 70.0"),
        ("how full is the battery?", "CHARGE is"),
        ("is ECS-FAN-1 running?", "ECS-FAN-1 (cabin fan 1) is NOMINAL"),
        ("what is the status of cabin fan 2?", "ECS-FAN-2 (cabin fan 2) is OFFLINE, its switch is off"),
        ("how is the ECS?", "is NOMINAL"),
        ("is everything okay?", "No alarm is active"),
    ],
)
def test_what_is_asked_is_read(ship: Ship, sound: ShipState, question: str, expected: str) -> None:
    assert expected in "\n".join(answer(ship, sound, question))


@pytest.mark.parametrize(
    "question",
    [
        "what is the limit of CO2?",
        "how do I lower carbon dioxide?",
        "what does C-112 mean?",
        "why is an LN2 tank OFFLINE?",
        "what is a regulator?",
        "is the pressure relief valve used?",
        "who is the commander?",
    ],
)
def test_a_question_for_the_manuals_is_left_to_them(ship: Ship, sound: ShipState, question: str) -> None:
    assert answer(ship, sound, question) == []
