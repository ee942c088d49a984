from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mission.errors import SavedGameError
from mission.files import write_atomically
from mission.game import Game, Outcome
from mission.levels import all_levels
from mission.panel import gauges
from mission.text import marked
from tests.mission.conftest import script


@pytest.mark.parametrize("level", ["co2-race", "main-bus", "nobody-answers"])
def test_a_game_that_was_saved_has_the_same_future(level: str, tmp_path: Path) -> None:
    straight, file, lines = Game.start(level, seed=5), tmp_path / "deep" / "game.json", script(level)
    for line in lines:
        straight.run(line)
    game = Game.start(level, seed=5)
    for line in lines:
        game.run(line)
        game.save(file)
        game = Game.load(file)
    assert game.state == straight.state
    assert game.transcript == straight.transcript
    assert game.outcome is straight.outcome is Outcome.WON
    assert game.history == lines[: len(game.history)]


def test_hints_and_mode_are_kept(tmp_path: Path) -> None:
    game = Game.start("ln2-tank", easy=True)
    game.hint()
    game.save(tmp_path / "game.json")
    again = Game.load(tmp_path / "game.json")
    assert again.easy
    assert again.hint() == all_levels()["ln2-tank"].hints[1]


@pytest.mark.parametrize("damage", ["", "{}", "[", '{"version": 1}'])
def test_a_damaged_file_is_an_error(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "game.json"
    path.write_text(damage, encoding="utf-8")
    with pytest.raises(SavedGameError, match="damaged"):
        Game.load(path)


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


def test_the_assistant_reads_telemetry_only_in_easy_mode() -> None:
    heard: list[tuple[str, str]] = []

    def ask(question: str, telemetry: str) -> str:
        heard.append((question, telemetry))
        return "first line\nsecond line"

    for easy in (False, True):
        game = Game.start("ln2-tank", easy=easy, ask=ask)
        assert game.run("ask What is wrong?") == ["first line", "second line"]
        assert game.elapsed_seconds == 0
    assert heard[0] == ("What is wrong?", "")
    assert "C-112" in heard[1][1]
    assert "ECS-LN2-T1" in heard[1][1]


def test_without_an_assistant_ask_says_so() -> None:
    assert Game.start("ln2-tank").run("ask hello")[0].startswith("E-10")


def test_a_command_takes_time_and_ends_alarms() -> None:
    game = Game.start("ln2-tank")
    game.run("power on ECS-LN2-T1")
    assert (game.elapsed_seconds, game.clock, game.outcome) == (60, "09:13", Outcome.RUNNING)
    assert {alarm.code for alarm in game.alarms()} == {"C-011", "C-113"}  # the line behind the tank fills
    output = game.run("wait 1m")
    assert game.alarms() == []
    assert output[-1] == "The ship looks sound. Verify that it stays so for 4 more minutes."


def test_a_game_that_cannot_be_saved_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SavedGameError, match=r"Cannot save .*game\.json.*writable"):
        write_atomically(tmp_path / "file" / "game.json", "{}")
