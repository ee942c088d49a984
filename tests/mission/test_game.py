from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mission.errors import MissionError
from mission.game import Game, Outcome
from mission.games import Games
from mission.levels import all_levels
from mission.text import marks
from mission.views import gauges
from tests.mission.conftest import script

ACTING = ("set", "transmit", "receive")
ENDED_LINE = re.compile(r"\d\d:\d\d  [WC]-\d{3} ended  ")


@pytest.fixture
def games(tmp_path: Path) -> Games:
    return Games(tmp_path / "deep")


@pytest.mark.parametrize("level", ["co2-race", "main-bus", "nobody-answers"])
def test_a_game_that_was_saved_has_the_same_future(level: str, games: Games) -> None:
    straight, lines = Game.start(level), script(level)
    for line in lines:
        straight.run(line)
    games.save(Game.start(level))
    for line in lines:
        game = games.load(level)
        assert game is not None
        game.run(line)
        games.save(game)
    assert games.load(level) == straight
    assert straight.outcome is Outcome.WON
    assert games.progress() == {level: straight.elapsed_seconds}
    assert {file.name for file in games.folder.iterdir()} == {f"{level}.json", "progress.json"}


def test_damage_and_another_ship_are_refused(games: Games) -> None:
    games.save(game := Game.start("ln2-tank"))
    path = games.folder / "ln2-tank.json"
    for damage in ("", "{}", "[", path.read_text().replace('"minute":', '"hour":', 1)):
        path.write_text(damage, encoding="utf-8")
        with pytest.raises(MissionError, match="Cannot read") as refused:
            games.load("ln2-tank")
        assert "pydantic" not in str(refused.value)
    games.save(replace(game, ship_checksum=1))
    with pytest.raises(MissionError, match="another ship"):
        games.load("ln2-tank")


LINES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["power on ", "set ", "show ", "telemetry ", "list parts ", "wait ", "transmit ", "help "]
    ).flatmap(
        lambda verb: st.text(alphabet="ECSFAN-12 SPEDHIGLOWMAT_PU.30mh", max_size=25).map(verb.__add__)
    ),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, max_size=4))
def test_whatever_is_typed_is_answered(lines: list[str]) -> None:
    game = Game.start("ln2-tank")
    for line in lines:
        output = game.run(line)
        assert output or not line.strip()
        for text in output:
            assert all(0 <= start < end <= len(text) for start, end, _ in marks(text))


def test_the_panel_shows_gauges() -> None:
    game = Game.start("coolant-pump")
    shown = {gauge.label: gauge for gauge in gauges(game.ship, game.state)}
    assert (shown["carbon dioxide"].part, bool(shown["computer"].value)) == ("ECS-CAB-S1", True)
    game.run("power off CMP-CPU-1")
    assert {g.label: g.value for g in gauges(game.ship, game.state)}["computer"] is None


def test_a_command_takes_time_and_ends_alarms() -> None:
    game = Game.start("ln2-tank")
    game.run("power on ECS-LN2-T1")
    assert (game.elapsed_seconds, game.clock, game.outcome) == (60, "09:13", Outcome.RUNNING)
    assert {alarm.code for alarm in game.alarms()} == {"C-011", "C-113"}  # the line behind the tank fills
    output = game.run("wait 1m")
    assert game.alarms() == []
    assert output[-1].endswith("4 more minutes.")
    assert game.run("wait 3m")[-1].endswith("1 more minute.")


# ------------------------------------------------------------------------------------- a green board


def test_a_green_board_that_is_not_the_end_says_what_is_open() -> None:
    game = Game.start("radio-key")
    said = "The board is green, and this is not the end: "
    expected, answer = "Harbour expects one message", "Harbour's answer is to be received"
    key, transmit, receive, *_ = [line for line in script("radio-key") if line.split()[0] in ACTING]
    assert said not in game.run("list systems")[-1]
    assert game.run(key)[-1] == f"{said}{expected}; {answer}."
    assert game.run("list systems")[-1] == f"{said}{expected}; {answer}."
    assert game.run(transmit)[-1] == f"{said}{answer}."
    game.run(receive)
    assert game.outcome is Outcome.WON


# ---------------------------------------------------------------------------------------------- alarms


def test_what_ended_is_told_in_the_order_of_time() -> None:
    game = Game.start("co2-race")
    for line in [*LOADED, "set AIR-CTRL CO2_BED ECS-CO2-L"]:
        game.run(line)
    lines = [line for line in game.run("wait 3h") if ENDED_LINE.match(line)]
    assert [line[7:12] for line in lines] == ["W-107", "W-106", "C-105"]
    assert lines == sorted(lines)


# ----------------------------------------------------------------------------------------------- hints


def test_a_hint_to_what_was_done_is_passed_over() -> None:
    hints = [hint.text for hint in all_levels()["main-bus"].hints]
    game = Game.start("main-bus")
    game.run("  SELF-TEST  EPS-BUS-A ")
    game.run("power off STO-FRZ-1")
    assert game.hint() == hints[1]
    assert len(game.hints_left) == 1
    assert game.hint() == hints[3]


LOADED = ["set STO-LKR-1 LOCK OPEN", "power on ECS-CO2-L", "set ECS-CO2-L CARTRIDGE LOADED"]


@pytest.mark.parametrize(
    ("level", "lines", "place"),
    [
        ("ln2-tank", ["power on ECS-LN2-T1"], 3),
        ("coolant-pump", ["power on ECS-CLP-2", "set THM-CTRL COOLANT_PUMP ECS-CLP-2"], 2),
        ("radio-key", ["set COM-SBT-1 KEY QUARRY-31"], 2),
        ("mixture", ["set ECS-O2-R1 SETPOINT 21.0", "set ECS-N2-R1 SETPOINT 70.0"], 4),
        ("headache", ["telemetry ECS-CAB-S2"], 1),
        ("co2-race", LOADED, 1),
        ("co2-race", [*LOADED, "set AIR-CTRL CO2_BED ECS-CO2-L"], 2),
    ],
)
def test_hints_begin_where_the_player_is(level: str, lines: list[str], place: int) -> None:
    game = Game.start(level)
    for line in lines:
        game.run(line)
    assert game.hints_left[0] == place


def test_a_game_that_cannot_be_saved_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(MissionError, match=r"Cannot save .*ln2-tank\.json.*writable"):
        Games(tmp_path / "file").save(Game.start("ln2-tank"))


# ------------------------------------------------------------------------------------------ best times


def test_the_better_time_is_kept(games: Games) -> None:
    start = Game.start("ln2-tank")
    for seconds in (600, 420, 900):
        state = replace(start.state, minute=start.level.start_minute + seconds / 60)
        games.record_win(replace(start, state=state, outcome=Outcome.WON))
    games.record_win(replace(start, outcome=Outcome.LOST))
    assert games.progress() == {"ln2-tank": 420}


@pytest.mark.parametrize("damage", ["{", '{"ln2-tank": -1}', '["ln2-tank"]'])
def test_damaged_best_times_are_an_error(games: Games, damage: str) -> None:
    games.folder.mkdir()
    (games.folder / "progress.json").write_text(damage, encoding="utf-8")
    with pytest.raises(MissionError, match="best times"):
        games.progress()
