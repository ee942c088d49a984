"""Easy mode's answers from the ship itself, by rules: what is wrong, what a quantity is, how a part is.

A question about the manuals (how, why, which limit) is none of these; nor is one that names nothing known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mission import views
from mission.alarms import Alarm, active_alarms
from mission.panel import CABIN_LABELS, GAUGES
from mission.selftest import AGREEMENT
from mission.ship import Ship
from mission.state import ShipState, clock
from mission.status import Status, lost_inputs, offline, reading, statuses

MOST_CAUSES = 6
SENSORS = ("ECS-CAB-S1", "ECS-CAB-S2")
WRONG = re.compile(
    r"\b(what('s| is| has gone| went| goes)? wrong|anything wrong|what (has )?(failed|broke)"
    r"|what is (broken|failing)|what (has )?happened|(is|are) (everything|all( systems)?)"
    r" (ok|okay|fine|well|nominal)|what is the cause|how is the ship|(status|state|condition) of the ship"
    r"|(which|what) alarms?( is| are)?( \w+)? active)\b",
    re.IGNORECASE,
)
OF_THE_MANUALS = re.compile(
    r"\b(how (do|can|to|fast|long|much time|does)|why|limits?|normal(ly)?|nominal value|should|mean(s|ing)?"
    r"|procedure|allowed|maximum|minimum|dangerous|fatal|if|when)\b",
    re.IGNORECASE,
)
PRESENT = re.compile(
    r"\b(what('s| is| are)?|how (is|are|high|low|much|warm|hot|cold|full|good|strong)|is|are|read|show|tell"
    r"|give|current|now|present|state|status|value)\b",
    re.IGNORECASE,
)
WORDS = {
    "PPCO2": r"co2|carbon dioxide|ppco2",
    "PPO2": r"(?<!lox )oxygen(?! (tank|regulator|supply))|ppo2|o2(?! tank)",
    "PRESSURE": r"(cabin|air) pressure|pressure (in|of) the cabin"
    r"|\b(the|our) pressure(?! (of|in|relief|regulator))",
    "TEMP": r"cabin temperature|temperature (in|of) the cabin"
    r"|\b(the|our) temperature(?! (of|in))|(warm|hot|cold) is it",
    "HUMIDITY": r"humidity",
}
"""What a question calls the cabin's quantities."""


def answer(ship: Ship, state: ShipState, question: str) -> list[str]:
    """What the ship's own telemetry says to a question; nothing where the question is not about it."""
    text = " ".join(question.split())
    if WRONG.search(text):
        said = list(_wrong(ship, state))
    elif OF_THE_MANUALS.search(text) or not PRESENT.search(text):
        return []
    else:
        said = [*_quantities(ship, state, text), *_named(ship, state, text)]
    return [f"From the telemetry at {clock(state.minute)}:", *said] if said else []


def _wrong(ship: Ship, state: ShipState) -> Iterator[str]:
    """What the two sensors disagree about, causes, the alarms that no cause explains, and what follows."""
    disagreements = list(_disagreements(ship, state))
    yield from disagreements
    causes = _causes(ship, state)
    alarms = [alarm for alarm in active_alarms(ship, state) if alarm.subject not in ship.controllers]
    for ident in causes[:MOST_CAUSES]:
        yield f"{_state_of(ship, state, ident)}.{_reading_for(state, ident, alarms)}"
    told = set(causes[:MOST_CAUSES])
    for alarm in alarms:
        if state.resolve(alarm.subject) not in told:
            yield f"{alarm.code} {alarm.title}: {alarm.text}. Read {alarm.procedure}."
    follow = [ident for ident in _disturbed(ship, state) if ident not in causes]
    if causes and follow:
        yield f"What follows from it: {', '.join(follow)}."
    elif not causes and not alarms and not disagreements:
        yield "No alarm is active, every part in use is NOMINAL, and the two cabin sensors agree."


def _disturbed(ship: Ship, state: ShipState) -> list[str]:
    """The parts in use that are not NOMINAL."""
    found = statuses(ship, state)
    return [part for part in ship.parts if found[part] != Status.NOMINAL and views.users(ship, state, part)]


def _causes(ship: Ship, state: ShipState) -> list[str]:
    """The disturbed parts that are so by themselves: not for want of a bus or of another part."""
    disturbed, dark = _disturbed(ship, state), offline(ship, state)

    def by_itself(ident: str) -> bool:
        part = ship.parts[ident]
        unpowered = part.fed and ship.controller_of(ident) in dark and ident in dark
        return not unpowered and not lost_inputs(state, part, dark)

    own = [ident for ident in disturbed if by_itself(ident)]
    return sorted(own or disturbed, key=lambda ident: (not ident.startswith("EPS-BUS"), ident not in dark))


def _state_of(ship: Ship, state: ShipState, ident: str) -> str:
    """`ECS-LN2-T1 (LN2 tank 1) is OFFLINE, its switch is off`."""
    words = f"{ident} ({ship.name_of(ident)}) is {statuses(ship, state)[ident]}"
    return words if state.switches[ident] else f"{words}, its switch is off"


def _reading_for(state: ShipState, ident: str, alarms: list[Alarm]) -> str:
    """` Alarm C-112. Read P-ATM-01.`, or what else there is to read about a part."""
    own = [alarm for alarm in alarms if state.resolve(alarm.subject) == ident]
    if own:
        return f" Alarm {own[0].code} {own[0].title}. Read {own[0].procedure}."
    return f" See show {ident}, and read P-ECS-01."


def _disagreements(ship: Ship, state: ShipState) -> Iterator[str]:
    if not set(SENSORS) & offline(ship, state):
        one, two = (ship.parts[ident] for ident in SENSORS)
        for key, apart in AGREEMENT.items():
            a, b = reading(state, one, key), reading(state, two, key)
            if abs(a - b) > apart:
                shown = one.telemetry[key].shown
                yield (
                    f"{one.id} shows {shown(a)} and {two.id} {shown(b)} {one.telemetry[key].unit} for {key}: "
                    "one of them is wrong. Read P-ECS-02."
                )


def _quantities(ship: Ship, state: ShipState, text: str) -> Iterator[str]:
    """The cabin's quantities by both sensors, and the panel's other gauges, that a question names."""
    for key, words in WORDS.items():
        if re.search(rf"(?:{words})", text, re.IGNORECASE):
            for sensor in SENSORS:
                yield f"{CABIN_LABELS[key]}: {_value(ship, state, sensor, key)}"
    for label, of, key in GAUGES:
        if re.search(rf"\b{label}\b", text, re.IGNORECASE):
            yield f"{label}: {_value(ship, state, state.resolve(of), key)}"


def _named(ship: Ship, state: ShipState, text: str) -> Iterator[str]:
    """The state of the parts, controllers and systems that a question names by their ids or whole names."""
    ids = set(re.findall(r"[A-Z0-9]+(?:-[A-Z0-9]+)*", text.upper()))
    for ident in ship.ids:
        if ident in ids or re.search(rf"\b{re.escape(ship.name_of(ident))}\b", text, re.IGNORECASE):
            yield f"{_state_of(ship, state, ident)}."
            for key in ship.telemetry_of(ident):
                yield _value(ship, state, ident, key)
    found = statuses(ship, state)
    for row in ship.systems.values():
        if row.id in ids or re.search(rf"\b{re.escape(row.name)}\b", text, re.IGNORECASE):
            yield f"{row.id} ({row.name}) is {found[row.controller]}."


def _value(ship: Ship, state: ShipState, part: str, key: str) -> str:
    """`ECS-CAB-S1 PPCO2 is 0.17 kPa`, and whether that is out of limits."""
    quantity, value = ship.parts[part].telemetry[key], views.value_of(ship, state, part, key)
    if value is None:
        return f"{part} is OFFLINE and sends no {key}"
    limits = f"limits {quantity.shown(quantity.min)} to {quantity.shown(quantity.max)}"
    warned = "" if quantity.within(value) else ", OUT OF LIMITS"
    return f"{part} {key} is {quantity.shown(value)} {quantity.unit} ({limits}{warned})"
