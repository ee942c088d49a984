"""A game: one level played on one ship, command by command; it can be saved and continued after a restart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError

from mission import console
from mission.alarms import Alarm, active_alarms, record, sounded, told
from mission.commands import Action, Refused
from mission.conditions import Situation
from mission.errors import SavedGameError
from mission.levels import Level, apply, level_of
from mission.parts import BUSES
from mission.physics import pass_time
from mission.ship import Ship, the_ship
from mission.state import ShipState, clock, fits, sound_state
from mission.status import Status
from mission.text import write_atomically

SAVE_VERSION = 4
ANEW = "Start the level again."
MINUTE = 1.0
LONGEST_DARK_MIN = 10.0  # without any main bus
Ask = Callable[[str], str]
"""The assistant: a question in, the answer out."""


class Outcome(StrEnum):
    """How the game stands."""

    RUNNING = "running"
    WON = "won"
    LOST = "lost"


@dataclass(slots=True)
class SavedGame:
    """The fields of a game that are saved."""

    level_id: str
    state: ShipState
    version: int = SAVE_VERSION
    outcome: Outcome = Outcome.RUNNING
    held_min: float = 0.0
    hints_given: list[int] = field(default_factory=list)  # indexes of the level's hints
    reason: str = ""
    transcript: list[str] = field(default_factory=list)
    history: list[str] = field(default_factory=list)


_SAVED = TypeAdapter(SavedGame)


@dataclass(slots=True)
class Game(SavedGame):
    """A level in play. `run` is the console; everything else is for panels and files."""

    ask: Ask | None = None

    @classmethod
    def start(cls, level: str, *, ask: Ask | None = None) -> Self:
        """Return a new game of a level, at the moment the player takes over."""
        found = level_of(level)
        return cls(found.id, beginning(found.id).copy(), ask=ask)

    @property
    def ship(self) -> Ship:
        """The ship that comes with the package."""
        return the_ship()

    @property
    def level(self) -> Level:
        """The level that is played."""
        return level_of(self.level_id)

    # -------------------------------------------------------------------------------------------- playing

    def run(self, line: str) -> list[str]:
        """Run a line (a command of the ship, or `hint`) and return the console's lines."""
        word, _, rest = line.strip().lower().partition(" ")
        if not word:
            return []
        if self.outcome is not Outcome.RUNNING:
            return ["The level is over."]
        self.history.append(line)
        self.transcript.append(f"{self.ship.names.prompt} {line}")
        if word == "hint" and not rest.strip():
            lines = [self.hint() or "There are no more hints."]
        else:
            lines = self._act(line)
        self.transcript += lines
        return lines

    def _act(self, line: str) -> list[str]:
        before = self.state.copy()
        try:
            lines = self._do(console.act(self.ship, self.state, line))
        except Refused as refused:
            lines = self._refuse(refused)
        return lines + self._standing(green=self.state != before or console.shows_board(line))

    def _do(self, action: Action) -> list[str]:
        self.state = action.state
        known, active = len(self.state.log), [entry for entry in self.state.log if entry.gone is None]
        self._pass(action.minutes, wakes=action.wakes)
        if action.question:
            return self._answer(action.question)
        said, alarms = list(action.report(self.state)), told(self.ship, active, self.state.log[known:])
        return [*alarms, *said] if action.wakes else [*said, *alarms]

    def _refuse(self, refused: Refused) -> list[str]:
        if refused.state is not None:
            self.state = refused.state
        known = len(self.state.log)
        if refused.minutes:
            self._pass(refused.minutes)
        else:
            record(self.ship, self.state)
        stop = "" if refused.text.endswith(("?", ".")) else "."
        said = f"{refused.code} {self.ship.titles[refused.code]}: {refused.text}{stop}"
        heard = [f'On the air: "{refused.heard}"'] if refused.heard else []
        return [said, *heard, *sounded(self.ship, self.state.log[known:])]

    def _answer(self, question: str) -> list[str]:
        if self.ask is None:
            return [f"E-10 {self.ship.titles['E-10']}: no assistant is connected"]
        return self.ask(question).splitlines()

    def _pass(self, minutes: float, *, wakes: bool = False) -> None:
        """Let time pass minute by minute; alarms go into the log, and a new warning may end it."""
        left = minutes
        while left > 1e-6 and self.outcome is Outcome.RUNNING:
            span = min(MINUTE, left)
            before = self.elapsed_min
            pass_time(self.ship, self.state, span)
            self._happen(before)
            now = Situation.of(self.ship, self.state, self.elapsed_min)
            new = record(self.ship, self.state, now.statuses)
            self._judge(now, span)
            left -= span
            if wakes and any(alarm.is_warning for alarm in new):
                break

    def _happen(self, before_min: float) -> None:
        """Apply the events whose time has come since `before_min`."""
        for event in self.level.events:
            if max(0.0, before_min) < event.at_min <= self.elapsed_min:
                apply(event, self.state)

    def _judge(self, now: Situation, minutes: float) -> None:
        """Decide whether the level is won or lost."""
        self.state.dark_min = self.state.dark_min + minutes if _dark(now) else 0.0
        self.reason = _fatal(now) or next((f.because for f in self.level.failures if f.when(now)), "")
        if self.reason:
            self.outcome = Outcome.LOST
            return
        wanted = (*self.level.success, *(goal.when for goal in self.level.goals))
        met = all(condition(now) for condition in wanted)
        self.held_min = self.held_min + minutes if met else 0.0
        if met and self.held_min >= self.level.hold_min:
            self.outcome = Outcome.WON

    def _standing(self, *, green: bool) -> list[str]:
        """Return lines about the end of the level, or about what is still open on a `green` board."""
        if self.outcome is Outcome.WON:
            return ["CRISIS AVERTED", *self.level.story_won.splitlines()]
        if self.outcome is Outcome.LOST:
            return [f"MISSION LOST: {self.reason}", *self.level.story_lost.splitlines()]
        if self.state.dark_min:
            left = LONGEST_DARK_MIN - self.state.dark_min
            obey = "BREAKER, BUS and power off still obey"
            return [f"Both main buses are dead; {obey}. {left:.0f} minutes are left."]
        if self.held_min:
            left = self.level.hold_min - self.held_min
            minutes = f"{left:.0f} more minute{'' if round(left) == 1 else 's'}"
            return [f"The ship looks sound. Verify that it stays so for {minutes}."]
        if green and (still_open := self._open()):
            return [f"The board is green, and this is not the end: {'; '.join(still_open)}."]
        return []

    def _open(self) -> list[str]:
        """Return the open goals that a green board does not show, [] if the board is not green."""
        now = Situation.of(self.ship, self.state, self.elapsed_min)
        if self.alarms() or not all(condition(now) for condition in self.level.success):
            return []
        return list(dict.fromkeys(goal.open for goal in self.level.goals if not goal.when(now)))

    def hint(self) -> str | None:
        """Return the next hint about something not done yet, None after the last."""
        left = self.hints_left
        if not left:
            return None
        self.hints_given.append(left[0])
        return self.level.hints[left[0]].text

    @property
    def hints_left(self) -> list[int]:
        """The indexes of the hints that were not given and are about something not done yet."""
        first = self.hints_given[-1] + 1 if self.hints_given else 0
        now = Situation.of(self.ship, self.state, self.elapsed_min, self.history)
        hints = enumerate(self.level.hints)
        return [at for at, hint in hints if at >= first and not any(done(now) for done in hint.done)]

    # -------------------------------------------------------------------------------------------- looking

    @property
    def elapsed_min(self) -> float:
        """Ship's minutes since the player took over."""
        return self.state.minute - self.level.start_minute

    @property
    def elapsed_seconds(self) -> int:
        """Ship's seconds since the player took over."""
        return round(self.elapsed_min * 60)

    @property
    def clock(self) -> str:
        """Ship's time of day."""
        return clock(self.state.minute)

    def alarms(self) -> list[Alarm]:
        """The active alarms, warnings first."""
        return active_alarms(self.ship, self.state)

    # -------------------------------------------------------------------------------------------- files

    def save(self, path: Path) -> None:
        """Save the game; a crash leaves the old file or the new one."""
        write_atomically(path, self.to_json())

    def to_json(self) -> str:
        """Return the saved fields as JSON."""
        return _SAVED.dump_json(self).decode()

    @classmethod
    def load(cls, path: Path, *, ask: Ask | None = None) -> Self:
        """Return the game of a file. Raises SavedGameError for a file that cannot be read."""
        try:
            return cls.from_json(path.read_text(encoding="utf-8"), ask=ask)
        except (OSError, UnicodeDecodeError) as error:
            raise SavedGameError(f"Cannot read the saved game '{path}': {error}", ANEW) from error

    @classmethod
    def from_json(cls, text: str, *, ask: Ask | None = None) -> Self:
        """Return the game of `to_json`. Raises SavedGameError for damage, another version or another ship."""
        try:
            saved = _SAVED.validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise SavedGameError(f"The saved game is damaged: {where}: {first['msg']}.", ANEW) from error
        if saved.version != SAVE_VERSION:
            raise SavedGameError(f"The saved game has version {saved.version}, not {SAVE_VERSION}.", ANEW)
        if not fits(saved.state, the_ship()):
            raise SavedGameError("The saved game is of another ship.", ANEW)
        return cls(**{one.name: getattr(saved, one.name) for one in fields(SavedGame)}, ask=ask)


@lru_cache(maxsize=64)
def beginning(level: str) -> ShipState:
    """Return the state in which the player takes over; copy it before you change it."""
    ship, found = the_ship(), level_of(level)
    before = [event for event in found.events if event.at_min <= 0]
    first = min([0.0, *(event.at_min for event in before)])
    state = sound_state(ship, minute=found.start_minute + first)
    state.people = found.people
    for event in before:
        pass_with_log(ship, state, found.start_minute + event.at_min - state.minute)
        apply(event, state)
        record(ship, state)
    pass_with_log(ship, state, found.start_minute - state.minute)
    return state


def pass_with_log(ship: Ship, state: ShipState, minutes: float) -> None:
    """Let time pass before the player takes over; alarms go into the log."""
    left = minutes
    while left > 1e-6:
        pass_time(ship, state, min(MINUTE, left))
        record(ship, state)
        left -= MINUTE


def _fatal(now: Situation) -> str:
    """Return why any level is lost now,  if it is not."""
    if now.state.cabin["PPCO2"] >= now.ship.physics["co2_fatal"]:
        return "carbon dioxide stands at the emergency limit, and the flight rules end the mission"
    if now.state.cabin["PPO2"] <= now.ship.physics["o2_fatal"]:
        return "oxygen stands at the emergency limit, and the flight rules end the mission"
    if now.state.dark_min >= LONGEST_DARK_MIN:
        return "both main buses are dead"
    return ""


def _dark(now: Situation) -> bool:
    """Whether both main buses are OFFLINE."""
    return all(now.statuses[bus] == Status.OFFLINE for bus in BUSES.values())
