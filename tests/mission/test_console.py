"""Commands, their answers and every error; the transcripts of the manual as they are printed there."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from mission.console import ASIDE, complete
from mission.game import Game
from mission.ship import Ship
from mission.state import Fault
from tests.mission.conftest import advance

MANUALS = Path(__file__).resolve().parents[2] / "docs_corpus"


@pytest.fixture
def game(ship: Ship, monkeypatch: pytest.MonkeyPatch) -> Game:
    """A game in a sound ship, in a level that can be neither won nor lost."""
    found = Game.start("radio-key")
    found.state.settings["COM-SBT-1"]["KEY"] = "QUARRY-47"
    found.state = advance(ship, found.state, 1)
    found.state.log.clear()
    changes = {"success": (lambda _: False,), "failures": (), "events": ()}
    endless = found.level.model_copy(update=changes)
    monkeypatch.setattr(Game, "level", property(lambda _: endless))
    return found


def said(game: Game, line: str) -> str:
    return "\n".join(game.run(line))


# ------------------------------------------------------------------------------------------- transcripts


def transcripts(source: str) -> list[list[str]]:
    text = (MANUALS / source).read_text(encoding="utf-8")
    return [block.strip().splitlines() for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL)]


def squeezed(line: str) -> str:
    return re.sub(r"\s+", " ", line).strip()


SITUATIONS = [
    ("reference/console.md", 0, "ln2 off"),
    ("reference/console.md", 1, "sound"),
    ("reference/console.md", 2, "sound"),
    ("reference/console.md", 3, "ln2 off"),
    ("procedures/general.md", 0, "sound"),
    ("procedures/environment.md", 0, "inverter off"),
    ("systems/communications.md", 0, "sound"),
    ("consumables.md", 0, "sound"),
]


@pytest.mark.parametrize(("source", "number", "situation"), SITUATIONS)
def test_the_manuals_transcripts_are_what_the_console_says(
    game: Game, ship: Ship, source: str, number: int, situation: str
) -> None:
    match situation:
        case "ln2 off":
            game.state.switches["ECS-LN2-T1"] = False
        case "inverter off":
            game.state.switches["EPS-INV-1"] = False
    if situation != "sound":
        game.state = advance(ship, game.state, 3)
    game.state.quantities["ECS-LOX-T1"]["QUANTITY"] = 74.0
    game.state.quantities["EPS-H2-T1"]["QUANTITY"] = 68.0
    game.state.quantities["ECS-WTK-1"]["QUANTITY"] = 72.0
    lines = transcripts(source)[number]
    commands = [i for i, line in enumerate(lines) if line.startswith(ship.names.prompt)] + [len(lines)]
    for start, end in pairwise(commands):
        printed = [squeezed(line) for line in lines[start + 1 : end]]
        answer = [squeezed(line) for line in game.run(lines[start].removeprefix(ship.names.prompt))]
        alarms = re.compile(r"\d\d:\d\d [CW]-\d{3}|On the air")  # the console adds what is heard meanwhile
        assert [line for line in answer if not alarms.match(line)] == printed


def test_the_log_is_printed_as_in_the_manual(ship: Ship) -> None:
    game = Game.start("ln2-tank")
    printed = [squeezed(line)[6:] for line in transcripts("reference/console.md")[4][1:]]
    answer = [squeezed(line)[6:] for line in game.run("alarms log")]
    assert answer[:3] == printed


# ------------------------------------------------------------------------------------------- commands


@pytest.mark.parametrize(
    ("line", "minutes"),
    [
        ("list systems", 0),
        ("show ECS-FAN-1", 0),
        ("alarms", 0),
        ("power on ECS-FAN-2", 1),
        ("set ECS-FAN-1 SPEED HIGH", 1),
        ("transmit COM-SBT-1 QUARRY-47 hello", 2),
        ("receive COM-SBT-1 QUARRY-47", 2),
        ("self-test ECS-FAN-1", 5),
        ("wait 1.5 h", 90),
        ("wait 1h30m", 90),
        ("wait 1,5 h", 90),
        ("wait 90 min", 90),
    ],
)
def test_time_that_commands_take(game: Game, line: str, minutes: float) -> None:
    before = game.state.minute
    game.run(line)
    assert game.state.minute - before == pytest.approx(minutes)


def test_bus_is_accepted_by_an_offline_controller(game: Game) -> None:
    game.run("set EPS-BUS-A BREAKER OPEN")
    assert said(game, "set STO-CTRL N2_TANK ECS-LN2-T2").startswith("E-03")
    assert said(game, "set ATM-CTRL N2_TANK ECS-LN2-T2").startswith("E-06")
    assert said(game, "set ATM-CTRL BUS B").startswith("ATM-CTRL BUS is now B")


def test_waiting_stops_at_a_new_warning(game: Game) -> None:
    game.run("power off ECS-CO2-A")
    game.state.cabin["PPCO2"] = 0.95
    answer = said(game, "wait 10h")
    assert re.findall(r"W-\d{3}", answer) == ["W-106"]
    assert 29 <= game.state.minute % 60 <= 59 or game.elapsed_min < 60


def test_help_explains_one_command_or_all(game: Game, ship: Ship) -> None:
    assert len(said(game, "help").splitlines()) == len(ship.commands) + len(ASIDE) == 17
    assert max(map(len, said(game, "help").splitlines())) <= 80
    assert "takes 5 min" in said(game, "help self-test")
    assert len(said(game, "help power").splitlines()) == 2
    assert "long as stated" in said(game, "help wait")


# ------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("line", "code", "near"),
    [
        ("powr on ECS-FAN-1", "E-01", "Did you mean power on"),
        ("quti", "E-01", "Did you mean quit?"),
        ("show ECS-FAN-9", "E-02", "Did you mean ECS-FAN-"),
        ("show", "E-02", "Syntax: show ID"),
        ("power on QQQ", "E-02", "See list parts"),
        ("self-test ATM-CTRL.N2_TANK", "E-02", "show ATM-CTRL names the part in it"),
        ("transmit ECS-FAN-1 REEF-19 hello", "E-02", "not a radio"),
        ("set ECS-FAN-1 SPED HIGH", "E-03", "Did you mean SPEED?"),
        ("telemetry ECS-CAB-S1 PCO2", "E-03", "Did you mean PPCO2?"),
        ("set ECS-FAN-1 SPEED HIHG", "E-04", "Did you mean HIGH?"),
        ("set ECS-O2-R1 SETPOINT 99", "E-04", "Allowed: 16.0 to 26.0 kPa"),
        ("set COM-SBT-1 KEY SECRET", "E-04", "letters, a hyphen, two digits"),
        ("list parts --status OFLINE", "E-04", "Did you mean OFFLINE?"),
        ("wait soon", "E-04", "wait 30m"),
        ("wait 99h", "E-04", "1m to 48h"),
        ("show ECS-FAN-1 now", "E-04", "'now' is too much"),
        ("ask", "E-04", "no question"),
        ("set ECS-FAN-2 SPEED HIGH", "E-06", "ECS-FAN-2 is OFFLINE"),
        ("transmit COM-SBT-2 QUARRY-52 hello", "E-06", "cannot send"),
        ("set ATM-CTRL N2_TANK ECS-LN2-T2", "E-11", "Power it on first"),
    ],
)
def test_errors_that_cost_no_time(game: Game, line: str, code: str, near: str) -> None:
    before = game.state.copy()
    answer = said(game, line)
    assert answer.startswith(code)
    assert near in answer
    assert game.state == before


@pytest.mark.parametrize("kind", ["dead", "stuck"])
def test_e05_takes_the_time_of_the_command(game: Game, kind: str) -> None:
    game.state.faults["ECS-CLP-1"] = Fault(kind)  # type: ignore[arg-type]
    line = "power on ECS-CLP-1" if kind == "dead" else "set ECS-CLP-1 RPM 4000"
    before = game.state.minute
    assert said(game, line).startswith("E-05 NO RESPONSE")
    assert game.state.minute - before == 1
    assert said(game, "power off ECS-CLP-1").startswith("ECS-CLP-1 is now OFFLINE")


def test_e07_names_the_condition(game: Game) -> None:
    game.run("power on ECS-CO2-L")
    assert "STO-LKR-1 LOCK is OPEN" in said(game, "set ECS-CO2-L CARTRIDGE LOADED")
    game.run("set GNC-STR-1 SHUTTER CLOSED")
    assert said(game, "set GNC-IMU-1 MODE ALIGN").startswith("E-07 INTERLOCK")
    assert "GNC-CTRL is NOMINAL" in said(game, "set PRP-ENG-1 ARM ARMED")
    assert "W-304" in [alarm.code for alarm in game.alarms()]
    game.run("set PRP-ENG-1 ARM SAFE")
    assert "W-304" not in [alarm.code for alarm in game.alarms()]


def test_e08_and_the_shut_out_after_five_wrong_keys(game: Game) -> None:
    for _ in range(5):
        before = game.state.minute
        assert said(game, "transmit COM-SBT-1 REEF-19 hello").startswith("E-08 KEY REFUSED")
        assert game.state.minute - before == 2
    assert "shut out" in said(game, "transmit COM-SBT-1 QUARRY-47 hello")
    assert "0 of 1" in said(game, "telemetry COM-SBT-1 LOCK")
    game.run("wait 10m")
    assert said(game, "transmit COM-SBT-1 QUARRY-47 hello") == "COM-SBT-1 sent the message"


def test_e09_without_a_carrier(game: Game) -> None:
    game.run("set COM-HGA-1 POINTING MANUAL")
    game.run("set COM-HGA-1 AZIMUTH 10")
    assert said(game, "transmit COM-SBT-1 QUARRY-47 hello").startswith("E-09 NO CARRIER")
    game.run("set COM-HGA-1 POINTING AUTO")
    game.run("power on COM-SBT-2")
    game.run("set COM-SBT-2 KEY QUARRY-52")
    assert said(game, "transmit COM-SBT-2 QUARRY-52 hello").startswith("E-09")  # it is not selected


@pytest.mark.parametrize(
    "line",
    ["set CMP-CPU-1 MODE SAFE", "power off CMP-CPU-1", "power off CMP-MEM-1", "set EPS-BUS-B BREAKER OPEN"],
)
def test_e10_while_the_computer_cannot_run_athena(game: Game, line: str) -> None:
    question = "ask which system holds the LN2 tanks?"
    assert game.run(question, ask=lambda *asked: asked[1]) == [question.removeprefix("ask ")]
    game.run(line)
    assert game.run(question, ask=lambda *asked: asked[1])[0].startswith("E-10 ATHENA NOT AVAILABLE")


# ------------------------------------------------------------------------------------- radio, completion


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
    assert "KEY is MESA-31" in game.run("transmit COM-SBT-1 QUARRY-47 hello")[0]
    game.run("set COM-SBT-1 KEY QUARRY-47")
    game.run("transmit COM-SBT-1 QUARRY-47 hello")
    assert "Loud and clear" in game.run("receive COM-SBT-1 QUARRY-47")[0]


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("li", ["list"]),
        ("list ", ["systems", "parts"]),
        ("power ", ["on", "off"]),
        ("show ECS-LN2", ["ECS-LN2-T1", "ECS-LN2-T2"]),
        ("set ECS-FAN-1 SPEED ", ["LOW", "MED", "HIGH"]),
        ("set ECS-O2-R1 SETPOINT ", ["21.0"]),
        ("set COM-SBT-1 KEY ", []),  # keys are never offered
        ("transmit COM-SBT-1 ", []),
        ("telemetry ECS-CAB-S1 PP", ["PPO2", "PPCO2"]),
        ("list parts --status ", ["NOMINAL", "MALFUNC", "OFFLINE"]),
        ("list parts --status OFFLINE --r", ["--role"]),
        ("wait 9", ["90m"]),
        ("nonsense ", []),
    ],
)
def test_what_may_follow(ship: Ship, line: str, options: list[str]) -> None:
    assert complete(ship, line) == options
