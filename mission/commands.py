"""The commands that act on the ship: power, settings, self-tests, radio, time, questions.

Each returns an `Action`: the state after the command, the ship's time that it takes, and a function that
returns the console's lines once that time has passed. A command that cannot be done raises `Refused`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mission import radio as radios
from mission.alarms import EVENT_PREFIX
from mission.conditions import Situation, parse
from mission.parts import BUSES, Part
from mission.ship import InterlockRow, Ship
from mission.state import ShipState, clock
from mission.status import (
    Status,
    lost_inputs,
    offline,
    out_of_limits,
    reading,
    statuses,
    used_parts,
    watched_out_of_limits,
)

AGREEMENT = {
    "PRESSURE": 0.5,
    "PPO2": 0.3,
    "PPCO2": 0.05,
    "TEMP": 0.5,
    "HUMIDITY": 5.0,
}  # how far twin sensors may differ
ALWAYS_ACCEPTED = ("BUS", "BREAKER")  # settings that an OFFLINE part or controller accepts, too: relays


class Refused(Exception):
    """A command that was not carried out; it may cost `minutes`, and change the ship to `state`."""

    def __init__(
        self, code: str, text: str, *, minutes: float = 0.0, state: ShipState | None = None, heard: str = ""
    ) -> None:
        super().__init__(text)
        self.code, self.text, self.minutes, self.state, self.heard = code, text, minutes, state, heard


@dataclass(frozen=True, slots=True)
class Action:
    """The effect of a command; a `question`, if any, is for the assistant."""

    state: ShipState
    minutes: float
    report: Callable[[ShipState], list[str]]  # from the state after the minutes, the lines to print
    wakes: bool = False  # a new warning ends the minutes early
    question: str = ""


def power(ship: Ship, state: ShipState, ident: str, *, on: bool) -> Action:
    """Close or open a power switch. Raises Refused if the part is dead and should be switched on."""
    after = state.copy()
    after.switches[ident] = on
    minutes = ship.commands["power on" if on else "power off"].minutes
    if on and after.fault(ident) == "dead":
        raise Refused("E-05", f"{ident} does not answer", minutes=minutes, state=after)
    return Action(after, minutes, lambda now: [_now(ship, now, ident)])


def _now(ship: Ship, state: ShipState, ident: str) -> str:
    """Return `ECS-LN2-T2 is now NOMINAL`, with the reason if a powered part stays OFFLINE."""
    status = statuses(ship, state)[ident]
    line = f"{ident} is now {status}"
    if state.switches[ident] and ident in offline(ship, state):
        bus = BUSES[state.setting(ship.controller_of(ident), "BUS")]
        if bus in offline(ship, state) and bus != ident:
            return f"{line}: its switch is on, and {bus} is OFFLINE"
    return line


def change(ship: Ship, state: ShipState, ident: str, key: str, value: str) -> Action:
    """Change a setting. Raises Refused for the first obstacle, in the order of the manual."""
    minutes = ship.commands["set"].minutes
    dark = offline(ship, state)
    if ident in dark and key not in ALWAYS_ACCEPTED:
        raise Refused("E-06", f"{ident} is OFFLINE and takes no setting")
    if ident in ship.controllers and key in ship.controllers[ident].slots and value in dark:
        raise Refused("E-11", f"{value} is OFFLINE. Power it on first")
    for row in ship.interlocks:
        if (row.part, row.setting, row.value) == (ident, key, value):
            _check_interlock(ship, state, row)
    if state.fault(ident) in ("stuck", "dead"):
        raise Refused("E-05", f"{ident} did not carry out the command", minutes=minutes)
    after = state.copy()
    after.settings[ident][key] = value
    _side_effects(state, after, ident, key, value)
    return Action(after, minutes, lambda now: [_set_now(ship, now, ident, key, value)])


def _set_now(ship: Ship, state: ShipState, ident: str, key: str, value: str) -> str:
    """Return a line with the present value, which may differ from `value`: a breaker may open again."""
    now = state.setting(ident, key)
    unit = ship.settings_of(ident)[key].unit
    words = f"{ident} {key} is now {now} {unit}".rstrip()
    return words if now == value else f"{words}: it did not stay {value}"


def _check_interlock(ship: Ship, state: ShipState, row: InterlockRow) -> None:
    missing = [text for text in row.requires if not parse(text, ship)(Situation(ship, state))]
    if missing:
        after = state.copy()
        if row.alarm:
            radios.happened(after, EVENT_PREFIX + row.alarm)
        raise Refused(row.error, f"{row.setting} {row.value} needs: {'; '.join(missing)}", state=after)


def _side_effects(before: ShipState, after: ShipState, ident: str, key: str, value: str) -> None:
    """Take a loaded cartridge from the locker; clear the arming alarm when ARM is set again."""
    if key == "CARTRIDGE" and value == "LOADED" and before.setting(ident, key) == "EMPTY":
        after.quantities["STO-LKR-1"]["CARTRIDGES"] -= 1
        after.quantities[ident]["LIFE"] = 100.0
    if key == "ARM":
        after.events = [event for event in after.events if event != EVENT_PREFIX + "W-304"]


def test(ship: Ship, state: ShipState, ident: str) -> Action:
    """Run a self-test of a part or a controller; its report is about the state when it ends."""
    minutes = ship.commands["self-test"].minutes
    return Action(state, minutes, lambda now: self_test(ship, now, ident))


def transmit(ship: Ship, state: ShipState, radio: str, key: str) -> Action:
    """Send a message by radio. Raises Refused if the call with this key does not get through."""
    after = _called(ship, state, radio, key, "transmit")
    answered = radios.send(ship, after, radio)
    minutes = ship.commands["transmit"].minutes
    own = state.setting(radio, "KEY")
    deaf = "" if answered else f", but its own KEY is {own}, and the answer needs that to be right, too"
    return Action(after, minutes, lambda _: [f"{radio} sent the message{deaf}"])


def receive(ship: Ship, state: ShipState, radio: str, key: str) -> Action:
    """Report a radio's newest message. Raises Refused if the call with this key does not get through."""
    after = _called(ship, state, radio, key, "receive")
    message = radios.fetch(after, radio)
    return Action(after, ship.commands["receive"].minutes, lambda _: [message])


def _called(ship: Ship, state: ShipState, radio: str, key: str, command: str) -> ShipState:
    """Return a copy of the state if a radio call with this key gets through. Raises Refused if not."""
    if radio in offline(ship, state):
        raise Refused("E-06", f"{radio} is OFFLINE and cannot send")
    after = state.copy()
    if found := radios.obstacle(ship, state, radio, key):
        code, text = found
        heard = ""
        if key != ship.radio_keys[radio] and code == "E-08":
            radios.count_wrong_key(after, radio)
            heard = radios.garbled(ship, radio, key)
        raise Refused(code, text, minutes=ship.commands[command].minutes, state=after, heard=heard)
    return after


def wait(state: ShipState, minutes: float) -> Action:
    """Let time pass; a new warning ends it."""
    return Action(state, minutes, lambda now: [f"it is {clock(now.minute)}"], wakes=True)


def ask(ship: Ship, state: ShipState, question: str) -> Action:
    """Ask the assistant a question. Raises Refused (E-10) if its computer does not run."""
    if why := why_athena_is_silent(ship, state):
        raise Refused("E-10", why)
    return Action(state, 0.0, lambda _: [], question=question)


def why_athena_is_silent(ship: Ship, state: ShipState) -> str:
    """Return why the assistant does not answer, or an empty string if it does."""
    computer, dark = state.setting("CMP-CTRL", "CPU"), offline(ship, state)
    if computer in dark:
        return f"{computer} is OFFLINE. See P-CMP-02"
    if state.warmups.get(computer):
        return f"{computer} is warming up. See P-CMP-02"
    if state.setting(computer, "MODE") == "SAFE":
        return f"{computer} is in MODE SAFE. See P-CMP-02"
    if "CMP-MEM-1" in dark:
        return "CMP-MEM-1 is OFFLINE. See P-CMP-02"
    return ""


# -- self-tests ---------------------------------------------------------------------------------------


def self_test(ship: Ship, state: ShipState, ident: str) -> list[str]:
    """Return the lines of a self-test: one for a part, one for each finding for a controller."""
    answers = (
        _controller(ship, state, ident)
        if ident in ship.controllers
        else [next(_findings(ship, state, ship.parts[ident]), ("F-00", ""))]
    )
    return [f"{code} {ship.titles[code]}{': ' + text if text else ''}." for code, text in answers]


def _findings(ship: Ship, state: ShipState, part: Part) -> Iterator[tuple[str, str]]:
    """Yield (code, text) of each finding of a part's self-test, the most important first."""
    dark = offline(ship, state)
    fault = state.fault(part.id)
    if part.id in dark:
        yield _why_offline(ship, state, part, dark)
    if fault == "stuck":
        yield "F-51", f"{part.id} does not carry out commands"
    if fault == "worn":
        yield "F-41", f"{part.id} is at the end of its life"
    if left := state.warmups.get(part.id):
        yield "F-71", f"{left:.0f} minutes are left"
    for needed in lost_inputs(state, part, dark):
        yield "F-21", f"{needed} is OFFLINE"
    for key, setting in part.settings.items():
        if setting.hindering(state.setting(part.id, key)):
            yield "F-31", f"{key} is {state.setting(part.id, key)}"
    for key in out_of_limits(state, part):
        yield "F-32", _limits(state, part, key)
    yield from _disagreement(ship, state, part, dark)


def _why_offline(ship: Ship, state: ShipState, part: Part, dark: frozenset[str]) -> tuple[str, str]:
    controller = ship.controller_of(part.id)
    if not state.switches[part.id]:
        return "F-11", f"the switch of {part.id} is off"
    if part.fed and controller in dark and state.switches[controller]:
        return "F-11", f"bus {state.setting(controller, 'BUS')} is dead"
    if state.fault(part.id) == "dead":
        return "F-12", f"{part.id} has power and is dead"
    if state.settings.get(part.id, {}).get("BREAKER") == "OPEN":
        return "F-31", "BREAKER is OPEN"
    return "F-11", "there is no source of power"


def _limits(state: ShipState, part: Part, key: str) -> str:
    quantity = part.telemetry[key]
    value = quantity.shown(reading(state, part, key))
    low, high = quantity.shown(quantity.min), quantity.shown(quantity.max)
    return f"{key} is {value} {quantity.unit}, limits {low} to {high}"


def _disagreement(
    ship: Ship, state: ShipState, part: Part, dark: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """Yield F-61 for each quantity of a drifting sensor that differs from its twin's, if the twin runs."""
    twins = [part.backup_of] if part.backup_of else list(ship.backups_of(part.id))
    if state.fault(part.id) != "drift" or not twins or twins[0] in dark:
        return
    twin = ship.parts[twins[0]]
    for key in part.telemetry:
        if abs(reading(state, part, key) - reading(state, twin, key)) > AGREEMENT[key]:
            yield "F-61", f"{key} differs from {twin.id}"


def _controller(ship: Ship, state: ShipState, ident: str) -> list[tuple[str, str]]:
    """Return (code, text) of every reason why a controller is not NOMINAL, or F-00 if it is."""
    controller, found, dark = ship.controllers[ident], statuses(ship, state), offline(ship, state)
    if ident in dark:
        off = not state.switches[ident]
        why = f"the switch of {ident} is off" if off else f"bus {state.setting(ident, 'BUS')} is dead"
        return [("F-11", why)]
    users = [*controller.uses_controllers, *used_parts(ship, state, controller)]
    answers = [("F-21", f"{used} is {found[used]}") for used in users if found[used] != Status.NOMINAL]
    sensor = ship.parts[state.setting("ECS-CTRL", "CABIN_SENSOR")]
    watched = watched_out_of_limits(ship, state, controller, dark)
    answers += [("F-32", f"cabin {_limits(state, sensor, key)}") for key in watched]
    return answers or [("F-00", "")]
