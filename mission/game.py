"""A game: one level played on one ship, command by command; `mission/games.py` saves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Self, TypeAlias
from zlib import crc32

from mission import console
from mission.alarms import Alarm, active_alarms, log_lines, record
from mission.commands import Action, Refused
from mission.conditions import Situation
from mission.levels import Level, apply, level_of
from mission.parts import BUSES
from mission.physics import pass_time
from mission.ship import SHIP_FILE, Ship, the_ship
from mission.state import ShipState, clock, sound_state
from mission.status import Status

SHIP_CHECKSUM = crc32(SHIP_FILE.read_bytes())
MINUTE = 1.0
LONGEST_DARK_MIN = 10.0  # without any main bus
Ask: TypeAlias = "Callable[[Game, str], str]"
"""The assistant: a function of a game and a question that returns the answer's text."""


class Outcome(StrEnum):
    """How the game stands."""

    RUNNING = "running"
    WON = "won"
    LOST = "lost"


@dataclass(slots=True)
class Game:
    """A level in play. `run` executes a line of the console; all fields are saved."""

    level_id: str
    state: ShipState
    ship_checksum: int = SHIP_CHECKSUM  # a game saved with another ship.toml cannot be continued
    outcome: Outcome = Outcome.RUNNING
    held_min: float = 0.0  # minutes for which all conditions of success have been met
    hints_given: list[int] = field(default_factory=list)  # indexes of the level's hints
    reason: str = ""  # why the level is lost
    transcript: list[str] = field(default_factory=list)  # the console's lines, with what was typed
    history: list[str] = field(default_factory=list)  # only the typed lines
    conversation_id: str = ""  # of the questions to the assistant

    @classmethod
    def start(cls, level: str) -> Self:
        """Return a new game of a level, at the moment the player takes over."""
        found = level_of(level)
        return cls(found.id, _beginning(found.id).copy())

    @property
    def ship(self) -> Ship:
        """The ship that comes with the package."""
        return the_ship()

    @property
    def level(self) -> Level:
        """The level that is played."""
        return level_of(self.level_id)

    # -------------------------------------------------------------------------------------------- playing

    def run(self, line: str, *, ask: Ask | None = None) -> list[str]:
        """Run a typed line (a command of the ship, or `hint`), and return the lines to print.

        `ask` answers questions to the assistant; without it they get the error E-10.
        """
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
            lines = self._act(line, ask)
        self.transcript += lines
        return lines

    def _act(self, line: str, ask: Ask | None) -> list[str]:
        try:
            lines = self._do(console.act(self.ship, self.state, line), ask)
        except Refused as refused:
            lines = self._refuse(refused)
        return lines + self._standing()

    def _do(self, action: Action, ask: Ask | None) -> list[str]:
        self.state = action.state
        known, active = len(self.state.log), [entry for entry in self.state.log if entry.gone is None]
        self.let_pass(action.minutes, wakes=action.wakes)
        if action.question and ask is None:
            return [f"E-10 {self.ship.titles['E-10']}: no assistant is connected"]
        if action.question and ask is not None:
            return ask(self, action.question).splitlines()
        said = list(action.report(self.state))
        alarms = log_lines(self.ship, self.state.log[known:], ended=active)
        return [*alarms, *said] if action.wakes else [*said, *alarms]

    def _refuse(self, refused: Refused) -> list[str]:
        if refused.state is not None:
            self.state = refused.state
        known = len(self.state.log)
        if refused.minutes:
            self.let_pass(refused.minutes)
        else:
            record(self.ship, self.state)
        stop = "" if refused.text.endswith(("?", ".")) else "."
        said = f"{refused.code} {self.ship.titles[refused.code]}: {refused.text}{stop}"
        heard = [f'On the air: "{refused.heard}"'] if refused.heard else []
        return [said, *heard, *log_lines(self.ship, self.state.log[known:])]

    def let_pass(self, minutes: float, *, wakes: bool = False) -> None:
        """Advance by `minutes` and log alarms; stop if the game ends or, with `wakes`, at a new warning."""
        left = minutes
        while left > 1e-6 and self.outcome is Outcome.RUNNING:
            span = min(MINUTE, left)
            before = self.elapsed_min
            pass_time(self.ship, self.state, span)
            self._happen(before)
            now = Situation(self.ship, self.state, self.elapsed_min)
            new = record(self.ship, self.state, now.statuses)
            if self.elapsed_min > 0:  # the player has taken over
                self._judge(now, span)
            left -= span
            if wakes and any(alarm.is_warning for alarm in new):
                break

    def _happen(self, before_min: float) -> None:
        """Apply the events that are due after `before_min`, up to now."""
        for event in self.level.events:
            if before_min < event.at_min <= self.elapsed_min:
                apply(event, self.state)

    def _judge(self, now: Situation, minutes: float) -> None:
        """Decide whether the level is won or lost."""
        dark = all(now.statuses[bus] == Status.OFFLINE for bus in BUSES.values())
        self.state.dark_min = self.state.dark_min + minutes if dark else 0.0
        self.reason = _fatal(now) or next((f.because for f in self.level.failures if f.when(now)), "")
        if self.reason:
            self.outcome = Outcome.LOST
            return
        wanted = (*self.level.success, *(goal.when for goal in self.level.goals))
        met = all(condition(now) for condition in wanted)
        self.held_min = self.held_min + minutes if met else 0.0
        if met and self.held_min >= self.level.hold_min:
            self.outcome = Outcome.WON

    def _standing(self) -> list[str]:
        """Return lines about the game: its end, dead buses, minutes still to last, or open goals; else []."""
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
        if still_open := self._open():
            return [f"The board is green, and this is not the end: {'; '.join(still_open)}."]
        return []

    def _open(self) -> list[str]:
        """Return the texts of unmet goals; [] while an alarm is active or another condition is not met."""
        now = Situation(self.ship, self.state, self.elapsed_min)
        if self.alarms() or not all(condition(now) for condition in self.level.success):
            return []
        return list(dict.fromkeys(goal.open for goal in self.level.goals if not goal.when(now)))

    def hint(self) -> str | None:
        """Return the next hint about something not done yet, and count it as given; None if there is none."""
        left = self.hints_left
        if not left:
            return None
        self.hints_given.append(left[0])
        return self.level.hints[left[0]].text

    @property
    def hints_left(self) -> list[int]:
        """The indexes of the hints after the last given one that are about something not done yet."""
        first = self.hints_given[-1] + 1 if self.hints_given else 0
        now = Situation(self.ship, self.state, self.elapsed_min, self.history)
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
        """Return the active alarms, warnings first."""
        return active_alarms(self.ship, self.state)


@lru_cache(maxsize=64)
def _beginning(level: str) -> ShipState:
    """Return the state in which the player takes over; it is cached: copy it before you change it."""
    found = level_of(level)
    first = min(0.0, *(event.at_min for event in found.events))
    state = sound_state(the_ship(), minute=found.start_minute + first)
    state.people = found.people
    for event in found.events:
        if event.at_min == first:
            apply(event, state)
    record(the_ship(), state)
    Game(found.id, state).let_pass(-first)
    return state


def _fatal(now: Situation) -> str:
    """Return why the mission is lost, or an empty string if it is not."""
    if now.state.cabin["PPCO2"] >= now.ship.physics["co2_fatal"]:
        return "carbon dioxide stands at the emergency limit, and the flight rules end the mission"
    if now.state.cabin["PPO2"] <= now.ship.physics["o2_fatal"]:
        return "oxygen stands at the emergency limit, and the flight rules end the mission"
    if now.state.dark_min >= LONGEST_DARK_MIN:
        return "both main buses are dead"
    return ""
