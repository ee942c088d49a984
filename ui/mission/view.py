"""A game as data for the components: console, ship, and strip."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from mission.alarms import Alarm
from mission.console import complete
from mission.game import Game, Outcome
from mission.parts import Quantity
from mission.ship import Ship, the_ship
from mission.status import statuses
from mission.story import the_story
from mission.text import HOW_TO_BEGIN, duration, marks
from mission.views import Gauge, gauges

View = dict[str, Any]  # what a component gets: JSON only

NOTHING_TO_FILL: View = {"number": 0, "line": ""}
ALARM = re.compile(r"\d\d:\d\d  [WC]-\d{3}  ")
DEEPEST = 4  # words before the last for which completions are prepared; `console.js` handles longer commands
MARGIN = 0.25  # length of a bar beyond each limit, as a share of the range between the limits
OVER = {Outcome.WON: "The level is won.", Outcome.LOST: "The level is lost."}


def console_view(game: Game, *, acknowledged: int, fill: View = NOTHING_TO_FILL) -> View:
    """Return the console's data: `acknowledged` is the last line run, `fill` a command for the input."""
    before = the_story().beginning if game.level.number == 1 else []
    how = [] if game.transcript else ["", f"{game.clock}  {HOW_TO_BEGIN}"]
    return {
        "level": game.level.id,
        "intro": [*before, *game.level.story.splitlines(), *how],
        "lines": [line_view(line, game.ship.names.prompt) for line in game.transcript],
        "prompt": game.ship.names.prompt,
        "history": game.history,
        "completions": completions(),
        "acknowledged": acknowledged,
        "fill": fill,
        "over": OVER.get(game.outcome, ""),
    }


def line_view(line: str, prompt: str) -> View:
    """Return a line with its kind ("command", "alarm", "end" or "") and its coloured spans."""
    return {"text": line, "kind": _kind(line, prompt), "spans": [*map(list, marks(line))]}


def _kind(text: str, prompt: str) -> str:
    if text.startswith(f"{prompt} "):
        return "command"
    if ALARM.match(text):
        return "alarm"
    return "end" if text.startswith(("CRISIS AVERTED", "MISSION LOST")) else ""


@cache
def completions() -> dict[str, list[str]]:
    """Return the possible next words for each beginning of a command, which is in lower case."""
    found: dict[str, list[str]] = {}
    _grow(the_ship(), [], found)
    return found


def _grow(ship: Ship, before: list[str], found: dict[str, list[str]]) -> None:
    key = " ".join(before)
    options = complete(ship, f"{key} " if before else "")
    if not options:
        return
    found[key.lower()] = options
    if len(before) < DEEPEST:
        for option in options:
            _grow(ship, [*before, option], found)


def ship_view(game: Game) -> View:
    """Return the ship: systems with their statuses, quantities with their limits."""
    ship, found = game.ship, statuses(game.ship, game.state)
    return {
        "systems": [
            {
                "id": row.id,
                "name": row.name,
                "depth": ship.depth(row.id),
                "status": found[row.controller].value,
            }
            for row in ship.systems.values()
        ],
        "gauges": [gauge_view(gauge) for gauge in gauges(ship, game.state)],
    }


def gauge_view(gauge: Gauge) -> View:
    """Return a gauge; `at` (None without value), `from` and `to` are positions on its bar, in percent."""
    quantity, value = gauge.quantity, gauge.value
    low, high = _scale(quantity)

    def place(value: float) -> float:
        return round(min(100.0, max(0.0, 100 * (value - low) / (high - low))), 1)

    return {
        "label": gauge.label,
        "part": gauge.part,
        "key": quantity.key,
        "value": "-" if value is None else quantity.shown(value),
        "unit": quantity.unit,
        "within": value is None or quantity.within(value),
        "limits": f"limits {quantity.shown(quantity.min)} to {quantity.shown(quantity.max)}",
        "at": None if value is None else place(value),
        "from": place(quantity.min),
        "to": place(quantity.max),
    }


def _scale(quantity: Quantity) -> tuple[float, float]:
    """Return the ends of a bar: `MARGIN` beyond the limits, not below 0 if `min` is not; for %, up to 100."""
    low, high = quantity.min, quantity.max
    margin = (high - low) * MARGIN
    below = low - margin
    if low >= 0:
        below = max(0.0, below)
    return below, 100.0 if quantity.unit == "%" else high + margin


def strip_view(game: Game) -> View:
    """Return the strip above the console: time, the crew's air, the alarms."""
    co2 = next(gauge for gauge in gauges(game.ship, game.state) if gauge.quantity.key == "PPCO2")
    return {
        "clock": game.clock,
        "elapsed": duration(game.elapsed_seconds),
        "par": duration(game.level.par_seconds),
        "late": game.elapsed_seconds > game.level.par_seconds,
        "co2": gauge_view(co2),
        "alarms": list(map(alarm_view, once(game.alarms()))),
    }


def once(alarms: Iterable[Alarm]) -> list[Alarm]:
    """Return the alarms without repeated pairs of code and text."""
    return list({(alarm.code, alarm.text): alarm for alarm in alarms}.values())


def alarm_view(alarm: Alarm) -> View:
    """Return the data of an alarm for the banner."""
    return {
        "code": alarm.code,
        "title": alarm.title,
        "text": alarm.text,
        "procedure": alarm.procedure,
        "warning": alarm.is_warning,
    }
