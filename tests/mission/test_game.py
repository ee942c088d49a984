from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mission.errors import SavedGameError
from mission.game import Game, Outcome
from mission.games import read_best_times, record_win
from mission.levels import all_levels
from mission.text import marked, write_atomically
from mission.views import gauges
from tests.mission.conftest import script

ACTING = ("set", "transmit", "receive")
ENDED_LINE = re.compile(r"\d\d:\d\d  [WC]-\d{3} ended  ")


@pytest.mark.parametrize("level", ["co2-race", "main-bus", "nobody-answers"])
def test_a_game_that_was_saved_has_the_same_future(level: str, tmp_path: Path) -> None:
    straight, file, lines = Game.start(level), tmp_path / "deep" / "game.json", script(level)
    for line in lines:
        straight.run(line)
    game = Game.start(level)
    for line in lines:
        game.run(line)
        game.save(file)
        game = Game.load(file)
    assert game.state == straight.state
    assert game.transcript == straight.transcript
    assert game.outcome is straight.outcome is Outcome.WON
    assert game.history == lines[: len(game.history)]


@pytest.mark.parametrize("damage", ["", "{}", "[", '{"version": 1}'])
def test_a_damaged_file_is_an_error(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "game.json"
    path.write_text(damage, encoding="utf-8")
    with pytest.raises(SavedGameError, match="damaged") as refused:
        Game.load(path)
    assert "pydantic" not in str(refused.value)


def test_other_versions_and_other_ships_are_refused(tmp_path: Path) -> None:
    saved = json.loads(Game.start("ln2-tank").to_json())
    with pytest.raises(SavedGameError, match="version 99"):
        Game.from_json(json.dumps({**saved, "version": 99}))
    del saved["state"]["settings"]["ECS-FAN-1"]
    with pytest.raises(SavedGameError, match="another ship"):
        Game.from_json(json.dumps(saved))
    with pytest.raises(SavedGameError, match=r"Cannot read .*none\.json"):
        Game.load(tmp_path / "none.json")


LINES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["power on ", "set ", "show ", "telemetry ", "list parts ", "wait ", "transmit ", "help "]
    ).flatmap(
        lambda verb: st.text(alphabet="ECSFAN-12 SPEDHIGLOWMAT_PU.30mh", max_size=25).map(verb.__add__)
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, max_size=4))
def test_whatever_is_typed_is_answered(lines: list[str]) -> None:
    game = Game.start("ln2-tank")
    for line in lines:
        output = game.run(line)
        assert output or not line.strip()
        for found in marked(output):
            assert all(0 <= mark.start < mark.end <= len(found.text) for mark in found.marks)


def test_the_panel_shows_gauges_and_alarms() -> None:
    game = Game.start("coolant-pump")
    shown = {gauge.label: gauge for gauge in gauges(game.ship, game.state)}
    assert shown["carbon dioxide"].part == "ECS-CAB-S1"
    assert shown["computer"].within
    game.run("power off CMP-CPU-1")
    assert {g.label: g.value for g in gauges(game.ship, game.state)}["computer"] == "-"
    assert "W-602" in {alarm.code for alarm in game.alarms()}


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
    assert said not in game.run("show COM-SBT-1")[-1]
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


@pytest.mark.parametrize(
    ("level", "causes"),
    [("two-levels-down", ["C-208", "C-121", "C-011"]), ("nobody-answers", ["C-401", "C-503", "C-501"])],
)
def test_a_part_stands_before_the_parts_that_need_it(level: str, causes: list[str]) -> None:
    codes = [alarm.code for alarm in Game.start(level).alarms()]
    assert sorted(causes, key=codes.index) == causes


# ----------------------------------------------------------------------------------------------- hints


def test_a_hint_to_what_was_done_is_passed_over() -> None:
    hints = [hint.text for hint in all_levels()["main-bus"].hints]
    game = Game.start("main-bus")
    game.run("  SELF-TEST  EPS-BUS-A ")
    game.run("power off STO-FRZ-1")
    assert game.hint() == hints[1]
    assert len(game.hints_left) == 1
    assert Game.from_json(game.to_json()).hint() == hints[3]


LOADED = ["set STO-LKR-1 LOCK OPEN", "power on ECS-CO2-L", "set ECS-CO2-L CARTRIDGE LOADED"]


@pytest.mark.parametrize(
    ("level", "lines", "place"),
    [
        ("ln2-tank", ["power on ECS-LN2-T1"], 3),
        ("two-levels-down", ["power on EPS-INV-2"], 3),
        ("coolant-pump", ["power on ECS-CLP-2", "set THM-CTRL COOLANT_PUMP ECS-CLP-2"], 2),
        ("radio-key", ["set COM-SBT-1 KEY QUARRY-31"], 2),
        ("mixture", ["set ECS-O2-R1 SETPOINT 21.0"], 3),
        ("mixture", ["set ECS-O2-R1 SETPOINT 21.0", "set ECS-N2-R1 SETPOINT 70.0"], 4),
        ("headache", ["telemetry ECS-CAB-S2"], 1),
        ("co2-race", LOADED, 1),
        ("co2-race", [*LOADED, "set AIR-CTRL CO2_BED ECS-CO2-L"], 2),
        ("main-bus", ["set ATM-CTRL BUS B"], 2),
    ],
)
def test_hints_begin_where_the_player_is(level: str, lines: list[str], place: int) -> None:
    game = Game.start(level)
    for line in lines:
        game.run(line)
    assert game.hints_left[0] == place


def test_the_last_hint_is_never_passed_over() -> None:
    for level in all_levels().values():
        assert not level.hints[-1].done


def test_a_game_that_cannot_be_saved_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SavedGameError, match=r"Cannot save .*game\.json.*writable"):
        write_atomically(tmp_path / "file" / "game.json", "{}")


# ------------------------------------------------------------------------------------------ best times


def test_the_better_time_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "progress.json"
    assert "ln2-tank" not in read_best_times(path)
    for seconds in (600, 420, 900):
        record_win(path, "ln2-tank", seconds)
    record_win(path, "mixture", 9000)
    assert read_best_times(path) == {"ln2-tank": 420, "mixture": 9000}
    assert [file.name for file in path.parent.iterdir()] == ["progress.json"]


@pytest.mark.parametrize("damage", ["{", '{"ln2-tank": -1}', '["ln2-tank"]'])
def test_damaged_best_times_are_an_error(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "progress.json"
    path.write_text(damage, encoding="utf-8")
    with pytest.raises(SavedGameError, match="Cannot read the best times"):
        read_best_times(path)
