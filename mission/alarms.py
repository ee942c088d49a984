"""Alarms: which ones are active, and the log of all that sounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mission.parts import Quantity
from mission.ship import AlarmRow, Ship
from mission.state import LogEntry, ShipState, clock
from mission.status import Status, reading, statuses

ANY_CONTROLLER = "*-CTRL"
EVENT_PREFIX = "alarm "  # prefix of the events in the state that raise an alarm
Statuses = Mapping[str, Status]  # of every part and controller


@dataclass(frozen=True, slots=True)
class Alarm:
    """An active alarm; its subject is the id of a part or a controller, or a CONTROLLER.SLOT."""

    code: str
    level: str
    title: str
    subject: str
    text: str
    procedure: str

    @property
    def is_warning(self) -> bool:
        """Whether the alarm is a warning, a danger to the crew within hours, and not a caution."""
        return self.level == "warning"


def active_alarms(ship: Ship, state: ShipState, found: Statuses | None = None) -> list[Alarm]:
    """Return the active alarms: warnings first, causes before effects, CO2 CRITICAL before CO2 HIGH.

    `found` are the statuses of the state; if it is None, they are computed.
    """
    found = statuses(ship, state) if found is None else found
    alarms = [alarm for row in ship.alarms for alarm in _raised(ship, state, row, found)]
    texts = [alarm.text for alarm in alarms]  # alarms of one quantity share a text, the worst is last

    def order(numbered: tuple[int, Alarm]) -> tuple[bool, int, int, int]:
        place, alarm = numbered
        return not alarm.is_warning, _distance(ship, state, alarm), texts.index(alarm.text), -place

    return [alarm for _, alarm in sorted(enumerate(alarms), key=order)]


def record(ship: Ship, state: ShipState, found: Statuses | None = None) -> list[Alarm]:
    """Write to `state.log` which alarms began or ended; return the new ones, causes before effects."""
    now = {(alarm.code, alarm.subject): alarm for alarm in active_alarms(ship, state, found)}
    open_entries = {(entry.code, entry.subject): entry for entry in state.log if entry.gone is None}
    for key, entry in open_entries.items():
        if key not in now:
            entry.gone = state.minute
    new = [alarm for key, alarm in now.items() if key not in open_entries]
    new.sort(key=lambda alarm: _distance(ship, state, alarm))
    state.log += [LogEntry(state.minute, a.code, a.subject, a.text) for a in new]
    return new


def log_lines(ship: Ship, new: Iterable[LogEntry], *, ended: Iterable[LogEntry] = ()) -> list[str]:
    """Return the console's lines for all alarms in `new` and for those in `ended` that are over, by time.

    The end of a controller's alarm has no line, as it follows from the ends of its parts' alarms.
    """
    titles = {row.code: row.title for row in ship.alarms}
    lines = [
        (entry.gone, f"{clock(entry.gone)}  {entry.code} ended  {titles[entry.code]}")
        for entry in ended
        if entry.gone is not None and entry.subject not in ship.controllers
    ]
    for entry in new:
        end = f", ended {clock(entry.gone)}" if entry.gone is not None else ""
        line = f"{clock(entry.minute)}  {entry.code}  {titles[entry.code]}  {entry.text}{end}"
        lines.append((entry.minute, line))
    return [line for _, line in sorted(lines, key=lambda timed: timed[0])]


def _distance(ship: Ship, state: ShipState, alarm: Alarm) -> int:
    """Return a number to sort alarms by cause: parts before their dependants, then controllers."""
    if alarm.subject in ship.controllers:
        return 10 - ship.depth(ship.controllers[alarm.subject].system)
    return _needs(ship, state, state.resolve(alarm.subject))


def _needs(ship: Ship, state: ShipState, part: str) -> int:
    """Return the length of a part's longest chain of dependencies; 0 if it depends on nothing."""
    needed = map(state.resolve, ship.parts[part].depends_on)
    return max((1 + _needs(ship, state, other) for other in needed), default=0)


def _raised(ship: Ship, state: ShipState, row: AlarmRow, found: Statuses) -> Iterator[Alarm]:
    subjects = tuple(ship.controllers) if row.of == (ANY_CONTROLLER,) else row.of
    for subject in subjects:
        text = _cause(ship, state, row, subject, found)
        if text is not None and (row.always or not _silent(ship, subject, found)):
            yield Alarm(row.code, row.level, row.title, subject, text, row.procedure)


def _silent(ship: Ship, subject: str, found: Statuses) -> bool:
    """Whether the controller that would report is OFFLINE; False for a controller: its own W-012 sounds."""
    if subject in ship.controllers:
        return False
    return (
        found[subject.partition(".")[0] if "." in subject else ship.controller_of(subject)] == Status.OFFLINE
    )


def _cause(ship: Ship, state: ShipState, row: AlarmRow, subject: str, found: Statuses) -> str | None:
    """Return the alarm's text if the subject raises it, else None."""
    ident = state.resolve(subject)
    if row.status:
        words = subject if subject in ship.controllers else f"{subject} is {row.status}"
        return words if found[ident] == row.status else None
    if row.event:
        return f"{subject}: {row.event}" if EVENT_PREFIX + row.code in state.events else None
    part = ship.parts[ident]
    if found[ident] == Status.OFFLINE or row.quantity not in part.telemetry:
        return None
    quantity = part.telemetry[row.quantity]
    value = reading(state, part, row.quantity)
    if not _beyond(row, quantity, value):
        return None
    return f"{subject} {row.quantity} is {_beside_limits(quantity, value)} {quantity.unit}"


def _beside_limits(quantity: Quantity, value: float) -> str:
    """Format a value, with two more decimals if it would look equal to a limit that it has passed."""
    shown = quantity.shown(value)
    at_limit = shown in (quantity.shown(quantity.min), quantity.shown(quantity.max))
    return f"{value:.{quantity.places + 2}f}" if at_limit and value != float(shown) else shown


def _beyond(row: AlarmRow, quantity: Quantity, value: float) -> bool:
    """Whether a value raises the alarm; a value equal to the limit does not."""
    if row.outside:
        return not quantity.within(value)
    margin = 1e-6
    low = row.below is not None and value < row.below - margin
    return low or (row.above is not None and value > row.above + margin)
