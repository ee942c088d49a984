from __future__ import annotations

import pytest

from mission.completion import complete
from mission.ship import Ship


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("li", ["list"]),
        ("list ", ["systems", "parts"]),
        ("list p", ["parts"]),
        ("power ", ["on", "off"]),
        ("alarms ", ["log"]),
        ("show ECS-LN2", ["ECS-LN2-T1", "ECS-LN2-T2"]),
        ("show ecs-ln2-t2", ["ECS-LN2-T2"]),
        ("power on EPS-INV", ["EPS-INV-1", "EPS-INV-2"]),
        ("set ECS-FAN-1 ", ["SPEED"]),
        ("set ECS-FAN-1 SPEED ", ["LOW", "MED", "HIGH"]),
        ("set ECS-O2-R1 SETPOINT ", ["21.0"]),
        ("set THM-CTRL COOLANT_PUMP ", ["ECS-CLP-1", "ECS-CLP-2"]),
        ("set COM-SBT-1 KEY ", []),
        ("set ECS-FAN-1 SPEED HIGH ", []),
        ("telemetry ECS-CAB-S1 PP", ["PPO2", "PPCO2"]),
        ("list parts --st", ["--status"]),
        ("list parts --status ", ["NOMINAL", "MALFUNC", "OFFLINE"]),
        ("list parts --status OFFLINE --r", ["--role"]),
        ("transmit ", ["COM-SBT-1", "COM-SBT-2", "COM-VHF-1"]),
        ("help self", ["self-test"]),
        ("wait 9", ["90m"]),
        ("nonsense ", []),
        ("set NOBODY ", []),
    ],
)
def test_what_may_follow(ship: Ship, line: str, options: list[str]) -> None:
    assert complete(ship, line) == options


def test_an_empty_line_offers_every_first_word(ship: Ship) -> None:
    assert set(complete(ship, "")) == {*(name.split()[0] for name in ship.commands), "hint", "quit"}


def test_keys_of_the_radio_are_never_offered(ship: Ship) -> None:
    lines = ["transmit COM-SBT-1 ", "receive COM-SBT-1 ", "set COM-SBT-1 KEY ", "set COM-SBT-1 KEY Q"]
    assert [option for line in lines for option in complete(ship, line)] == []
