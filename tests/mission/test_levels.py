"""Each level is won by what the manuals say, and by nothing less."""

from __future__ import annotations

from functools import cache

import pytest

from mission.conditions import parse
from mission.errors import MissionError
from mission.game import Game, Outcome
from mission.levels import all_levels, apply, level_of
from mission.ship import Ship
from mission.state import sound_state
from tests.manuals import PART_ID, sections
from tests.mission.conftest import SCRIPTS, script

LEVELS = list(all_levels())
ACTING = ("set", "power", "transmit", "receive")
# What a manual advises and a level can be won without.
NOT_NEEDED = {
    "coolant-pump": {"power off ECS-CLP-1"},
    "two-levels-down": {"power on EPS-INV-1"},
    "co2-race": {"set AIR-CTRL CO2_BED ECS-CO2-A"},
}


@cache
def sections_and_commands(level: str) -> tuple[tuple[str, str], ...]:
    """Pairs of section id and command."""
    lines = (SCRIPTS / f"{level}.txt").read_text(encoding="utf-8").splitlines()
    return tuple((lines[i].removeprefix("# "), lines[i + 1]) for i in range(0, len(lines), 2))


def played(level: str, lines: list[str]) -> Game:
    game = Game.start(level)
    for line in lines:
        game.run(line)
    return game


def words(level: str) -> list[str]:
    return [*script(level), "wait 30m"]


def test_there_are_enough_levels_in_order() -> None:
    assert len(LEVELS) >= 8
    assert [level.number for level in all_levels().values()] == list(range(1, len(LEVELS) + 1))
    assert {path.stem for path in SCRIPTS.glob("*.txt")} == set(LEVELS)


# ------------------------------------------------------------------------------------------- winning


@pytest.mark.parametrize("level", LEVELS)
def test_the_manuals_win_the_level(level: str) -> None:
    game = played(level, script(level))
    assert game.outcome is Outcome.WON, game.transcript
    assert game.elapsed_seconds <= all_levels()[level].par_seconds
    assert "CRISIS AVERTED" in game.transcript


@pytest.mark.parametrize("level", LEVELS)
def test_every_command_of_a_script_is_in_the_section_that_it_names(level: str) -> None:
    for section, command in sections_and_commands(level):
        assert section in sections(), section
        text = sections()[section].lower()
        verb, ids = command.split()[0], PART_ID.findall(command)
        needed = ids if verb in ("set", "power", "self-test", "show", "telemetry") else [verb]
        if verb == "set" and command.split()[3] not in ids:
            needed = [*ids, command.split()[2]]
        general = section.startswith("reference/console.md")
        missing = [word for word in needed if word.lower() not in text]
        assert not missing or (general and verb in text), f"{section} does not mention {missing} of {command}"


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_every_action_of_a_script_is_needed(level: str) -> None:
    for left_out in [line for line in script(level) if line.split()[0] in ACTING]:
        if left_out in NOT_NEEDED.get(level, set()):
            continue
        game = played(level, [line for line in words(level) if line != left_out])
        assert game.outcome is not Outcome.WON, f"won without {left_out}"


# ------------------------------------------------------------------------------------------- not winning


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_waiting_loses(level: str) -> None:
    game = Game.start(level)
    for _ in range(200):
        game.run("wait 24h")
    assert game.outcome is Outcome.LOST
    assert game.transcript[-1] == all_levels()[level].story_lost.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_powering_everything_on_does_not_win(level: str, ship: Ship) -> None:
    game = Game.start(level)
    off = [part for part in ship.parts if not game.state.switches[part]]
    for line in [*(f"power on {part}" for part in off), *["wait 3h"] * 40]:
        game.run(line)
    assert game.outcome is Outcome.LOST


@pytest.mark.parametrize(
    ("level", "wrong"),
    [
        ("radio-key", ["set COM-SBT-1 KEY QUARRY-31", "transmit COM-SBT-1 QUARRY-31 hello"]),
        ("radio-key", ["set COM-SBT-1 KEY MESA-47", "transmit COM-SBT-1 MESA-47 hello"]),
        ("radio-key", ["transmit COM-SBT-1 QUARRY-47 hello", "receive COM-SBT-1 QUARRY-47"]),
        ("nobody-answers", ["set COM-SBT-2 KEY QUARRY-47", "transmit COM-SBT-2 QUARRY-47 hello"]),
        ("headache", ["set AIR-CTRL CO2_BED ECS-CO2-L", "wait 2h"]),
        ("headache", ["power on ECS-CO2-A", "wait 30m", "set AIR-CTRL CO2_BED ECS-CO2-A", "wait 4h"]),
        ("co2-race", ["set ECS-CO2-A VENT OPEN", "set ECS-CO2-A MODE BAKE", "wait 2h"]),
        ("co2-race", ["power on ECS-CO2-B", "set AIR-CTRL CO2_BED ECS-CO2-B", "wait 2h"]),
        ("coolant-pump", ["power on ECS-CLP-2", "set THM-CTRL COOLANT_PUMP ECS-CLP-2", "wait 6h"]),
        ("ln2-tank", ["power on ECS-LN2-T2", "wait 10m"]),
        ("red-needle", ["set ECS-CTRL CABIN_SENSOR ECS-CAB-S2", "wait 2h"]),
        ("moving-target", ["set ECS-RAD-1 ISOLATION CLOSED", "wait 1h"]),
    ],
)
def test_tempting_mistakes_do_not_win(level: str, wrong: list[str]) -> None:
    assert played(level, wrong).outcome is not Outcome.WON


def test_an_overload_can_be_mended_for_ten_minutes() -> None:
    overload = [line for line in script("main-bus") if line.split()[0] == "set"]
    game = played("main-bus", overload)
    assert game.outcome is Outcome.RUNNING
    assert "10 minutes are" in game.transcript[-1] or "9 minutes are" in game.transcript[-1]
    for line in ["power off STO-FRZ-1", "set EPS-BUS-B BREAKER CLOSED", "wait 1h"]:
        game.run(line)
    assert game.outcome is Outcome.WON
    game = played("main-bus", [*overload, "wait 15m"])
    assert "main buses" in game.reason


# ------------------------------------------------------------------------------------------- files


def test_a_level_is_found_by_id_or_number() -> None:
    assert level_of("3") is level_of("coolant-pump") is level_of("COOLANT-PUMP")
    with pytest.raises(MissionError, match="mean co2-race"):
        level_of("co2-rice")
    with pytest.raises(MissionError, match="There are: ln2-tank"):
        level_of("zzz")


@pytest.mark.parametrize("level", LEVELS)
def test_the_events_of_a_level_change_only_what_is_aboard(level: str, ship: Ship) -> None:
    sound = sound_state(ship, minute=0)
    state = sound.copy()
    for event in all_levels()[level].events:
        apply(event, state)
    assert state.switches.keys() == sound.switches.keys()
    assert state.cabin.keys() == sound.cabin.keys()
    assert (state.faults.keys() | state.warmups.keys()) <= ship.parts.keys()
    for ident, settings in state.settings.items():
        assert settings.keys() == sound.settings[ident].keys()
        assert all(ship.settings_of(ident)[key].accept(value) == value for key, value in settings.items())
    assert all(state.quantities[part].keys() == own.keys() for part, own in sound.quantities.items())


@pytest.mark.parametrize("words", ["ECS is SPLENDID", "ELAPSED is many or more", "XYZ is NOMINAL", "BUS is"])
def test_what_is_no_condition_is_refused(ship: Ship, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(words, ship)
