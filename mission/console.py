"""The console: parses a line into an action on the ship, or refuses it and names the nearest valid word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from mission import commands, views
from mission.commands import Action, Refused
from mission.parts import Setting
from mission.radio import radios
from mission.ship import CommandRow, Ship
from mission.state import ShipState
from mission.status import Status

FILTERS = ("--system", "--status", "--kind", "--role")
DURATION = re.compile(
    r"(?:(\d+(?:[.,]\d+)?)h(?:ours?|rs?)?)?(?:(\d+(?:[.,]\d+)?)(?:m(?:in(?:ute)?s?)?)?)?", re.IGNORECASE
)
LONGEST_WAIT_H = 48.0
HELP = {
    "list systems": "every system with its status, inner systems indented",
    "list parts": "parts that match filters: name, role, status",
    "show": "everything about a part or a controller",
    "power on": "closes the power switch of a part or a controller",
    "power off": "opens the power switch of a part or a controller",
    "set": "changes a setting, also a controller's slots or BUS",
    "self-test": "a part or controller tests itself: F-00 to F-71",
    "telemetry": "quantities of a part with nominal value and limits",
    "alarms": "the alarms that are active now",
    "alarms log": "all alarms of the last day",
    "transmit": "sends a message by a radio with a key",
    "receive": "fetches the newest message of a radio with a key",
    "wait": "lets ship's time pass: wait 30m, wait 2h",
    "help": "all commands, or one of them",
    "ask": "a question to Athena, who answers from the manuals",
}
ASIDE = {"hint": "the next hint about something not done yet", "quit": "leaves the level; the game is saved"}
"""Commands of the game, not of the ship, with their help texts."""
LEAVE = ("quit", "exit")
DURATIONS = ("5m", "10m", "30m", "90m", "1h", "2h")

LIKE_COMMAND = 0.7  # least similarity, 0..1, of typed words to a command for it to be suggested


@dataclass(frozen=True, slots=True)
class Parsed:
    """A command with its arguments: as `words`, and as `rest`, one text with single spaces."""

    command: CommandRow
    words: tuple[str, ...]
    rest: str


Handler = Callable[[Ship, ShipState, Parsed], Action]


def parse(ship: Ship, line: str) -> Parsed:
    """Split a line into its command and arguments. Raises Refused with E-01 for an unknown command."""
    text = " ".join(line.split())
    for name in sorted(ship.commands, key=len, reverse=True):
        if f"{text} ".lower().startswith(f"{name} "):
            rest = text[len(name) :].strip()
            return Parsed(ship.commands[name], tuple(rest.split()), rest)
    raise Refused("E-01", f"'{text}'.{_near_command(ship, text.lower())}")


def _near_command(ship: Ship, text: str) -> str:
    """Return ` Did you mean X?` for a command like the first one or two words, else advice to type help."""
    for count in (2, 1):
        known = [name for name in (*ship.commands, *ASIDE) if len(name.split()) == count]
        if found := get_close_matches(" ".join(text.split()[:count]), known, n=1, cutoff=LIKE_COMMAND):
            return f" Did you mean {found[0]}?"
    return " Type help for a list."


def act(ship: Ship, state: ShipState, line: str) -> Action:
    """Return the action of a line; `mission/game.py` carries it out. Raises Refused if it cannot be done."""
    parsed = parse(ship, line)
    return _HANDLERS[parsed.command.name](ship, state, parsed)


def nearest(word: str, options: Iterable[str], otherwise: str = "") -> str:
    """Return ` Did you mean X?`, or `otherwise` after a space if no option is similar."""
    known = {option.upper(): option for option in options}
    found = get_close_matches(word.upper(), known, n=1, cutoff=0.5)
    advice = f"Did you mean {known[found[0]]}?" if found else otherwise
    return f" {advice}" if advice else ""


# ------------------------------------------------------------------------------------------------ arguments


def _words(parsed: Parsed, least: int, most: int) -> tuple[str, ...]:
    """Return the command's arguments. Raises Refused if there are too few or too many."""
    if len(parsed.words) > most:
        extra = " ".join(parsed.words[most:])
        raise Refused("E-04", f"'{extra}' is too much. Syntax: {parsed.command.syntax}")
    if len(parsed.words) < least:
        raise Refused(
            "E-02" if not parsed.words else "E-04", f"something is missing. Syntax: {parsed.command.syntax}"
        )
    return parsed.words


def _id(ship: Ship, word: str, options: Iterable[str] | None = None) -> str:
    """Return a typed id in upper case; a system's becomes its controller's. Raises Refused if unknown."""
    ident = word.upper()
    known = ship.ids if options is None else tuple(options)
    if options is None and ident in ship.systems:
        return ship.systems[ident].controller
    if ident not in known:
        controller, _, slot = ident.partition(".")  # alarms write CONTROLLER.SLOT
        if slot and controller in ship.controllers:
            raise Refused(
                "E-02", f"{slot} is a slot of {controller}. show {controller} names the part in it."
            )
        kind = "a part or a controller" if options is None else "a radio"
        raise Refused("E-02", f"'{ident}' is not {kind}.{nearest(ident, known, 'See list parts.')}")
    return ident


def _key(word: str, known: Iterable[str], ident: str, what: str) -> str:
    key = word.upper()
    options = tuple(known)
    if key not in options:
        wrong = f"{ident} has no {what} '{key}'.{nearest(key, options)}" if key else f"no {what} was named."
        raise Refused("E-03", f"{wrong} {ident} has: {', '.join(options) or 'none'}")
    return key


def _value(setting: Setting, word: str) -> str:
    value = setting.accept(word)
    if value is None:
        near = nearest(word, setting.values)
        given = f"'{word.upper()}'" if word else "no value"
        raise Refused("E-04", f"{given} for {setting.key}.{near} Allowed: {setting.allowed()}")
    return value


def duration_min(word: str) -> float | None:
    """Return the minutes of `30m`, `2h`, `1h30m` or `90`; None for other words, 0 or over 48 hours."""
    match = DURATION.fullmatch(word)
    hours, minutes = (float((part or "0").replace(",", ".")) for part in match.groups()) if match else (0, 0)
    minutes += 60 * hours
    return minutes if 0 < minutes <= LONGEST_WAIT_H * 60 else None


def filter_values(ship: Ship, name: str) -> tuple[str, ...]:
    """Return the allowed values of a filter of `list parts`."""
    return {
        "--system": tuple(ship.systems),
        "--status": tuple(Status.__members__),
        "--kind": tuple(dict.fromkeys(part.kind for part in ship.parts.values())),
        "--role": ("primary", "backup"),
    }[name]


def _filters(ship: Ship, words: tuple[str, ...]) -> dict[str, str]:
    """Return the filters of `list parts` by name; a kind may have two words. Raises Refused."""
    filters: dict[str, str] = {}
    for group in re.findall(r"(\S+)((?: (?!--)\S+)*)", " ".join(words)):
        name, value = group[0].lower(), group[1].strip()
        if name not in FILTERS:
            near = nearest(name, FILTERS)
            raise Refused("E-03", f"'{name}' is not a filter.{near} There are: {', '.join(FILTERS)}")
        allowed = {option.upper(): option for option in filter_values(ship, name)}
        if value.upper() not in allowed:
            near = nearest(value, allowed.values())
            raise Refused("E-04", f"'{value}' for {name}.{near} Allowed: {', '.join(allowed.values())}")
        filters[name] = allowed[value.upper()]
    return filters


# ------------------------------------------------------------------------------------------------ commands


def _look(state: ShipState, lines: list[str]) -> Action:
    return Action(state, 0.0, lambda _: lines)


def _looking(view: Callable[[Ship, ShipState], list[str]]) -> Handler:
    """Return the handler of a command without arguments that shows a view."""

    def handler(ship: Ship, state: ShipState, parsed: Parsed) -> Action:
        _words(parsed, 0, 0)
        return _look(state, view(ship, state))

    return handler


def _on_id(carry_out: Callable[[Ship, ShipState, str], Action]) -> Handler:
    """Return the handler of a command whose one argument is an id."""

    def handler(ship: Ship, state: ShipState, parsed: Parsed) -> Action:
        return carry_out(ship, state, _id(ship, _words(parsed, 1, 1)[0]))

    return handler


def _set(ship: Ship, state: ShipState, parsed: Parsed) -> Action:
    words = parsed.words
    if not words:
        raise Refused("E-02", f"no id was given. Syntax: {parsed.command.syntax}")
    ident = _id(ship, words[0])
    settings = ship.settings_of(ident)
    key = _key(words[1] if len(words) > 1 else "", settings, ident, "setting")
    _words(parsed, 0, 3)
    value = _value(settings[key], words[2] if len(words) > 2 else "")
    return commands.change(ship, state, ident, key, value)


def _telemetry(ship: Ship, state: ShipState, parsed: Parsed) -> Action:
    words = _words(parsed, 1, 2)
    ident = _id(ship, words[0])
    known = ship.telemetry_of(ident)
    if not known:
        raise Refused("E-03", f"{ident} sends no telemetry. Its parts do: show {ident}")
    keys = [_key(words[1], known, ident, "quantity")] if len(words) > 1 else list(known)
    return _look(state, views.telemetry(ship, state, ident, keys))


def _radio(ship: Ship, parsed: Parsed, least: int, most: int) -> tuple[str, str]:
    words = _words(parsed, least, most)
    radio = _id(ship, words[0], radios(ship))
    return radio, _value(ship.settings_of(radio)["KEY"], words[1])


def _transmit(ship: Ship, state: ShipState, parsed: Parsed) -> Action:
    radio, key = _radio(ship, parsed, 3, len(parsed.words))
    return commands.transmit(ship, state, radio, key)


def _receive(ship: Ship, state: ShipState, parsed: Parsed) -> Action:
    radio, key = _radio(ship, parsed, 2, 2)
    return commands.receive(ship, state, radio, key)


def _wait(_: Ship, state: ShipState, parsed: Parsed) -> Action:
    word = parsed.rest.replace(" ", "")
    minutes = duration_min(word)
    if minutes is None:
        raise Refused("E-04", f"'{parsed.rest}' is not a duration. Allowed: 1m to 48h, for instance wait 30m")
    return commands.wait(state, minutes)


def _help(ship: Ship, state: ShipState, parsed: Parsed) -> Action:
    name = parsed.rest.lower()
    if not name:
        rows = [(row.syntax.partition(" [--")[0], HELP[row.name]) for row in ship.commands.values()]
        return _look(state, views.columns([*rows, *ASIDE.items()]))
    if name in ASIDE:
        return _look(state, [f"{name}: {ASIDE[name]}; takes no time"])
    found = [row for row in ship.commands.values() if row.name == name or row.name.split()[0] == name]
    if not found:
        raise Refused("E-01", f"'{name}'.{nearest(name, [*ship.commands, *ASIDE], 'Type help for a list.')}")
    return _look(state, [f"{row.syntax}: {HELP[row.name]}; takes {_time(row)}" for row in found])


def _time(row: CommandRow) -> str:
    if row.name == "wait":
        return "as long as stated"
    return f"{row.minutes:g} min" if row.minutes else "no time"


def _ask(ship: Ship, state: ShipState, parsed: Parsed) -> Action:
    if not parsed.rest:
        raise Refused("E-04", f"no question was asked. Syntax: {parsed.command.syntax}")
    return commands.ask(ship, state, parsed.rest)


_HANDLERS: dict[str, Handler] = {
    "list systems": _looking(views.systems),
    "list parts": lambda ship, state, it: _look(state, views.parts(ship, state, _filters(ship, it.words))),
    "show": _on_id(lambda ship, state, ident: _look(state, views.show(ship, state, ident))),
    "power on": _on_id(partial(commands.power, on=True)),
    "power off": _on_id(partial(commands.power, on=False)),
    "set": _set,
    "self-test": _on_id(commands.test),
    "telemetry": _telemetry,
    "alarms": _looking(views.alarms),
    "alarms log": _looking(views.log),
    "transmit": _transmit,
    "receive": _receive,
    "wait": _wait,
    "help": _help,
    "ask": _ask,
}


# -------------------------------------------------------------------------------------------- tab-completion


def complete(ship: Ship, line: str) -> list[str]:
    """Return the words that complete the line's last word; after a space, all words that may follow."""
    *before, word = line.split(" ") if line else [""]
    before = [w for w in before if w]
    return [option for option in _options(ship, before) if option.lower().startswith(word.lower())]


def _options(ship: Ship, before: Sequence[str]) -> Iterable[str]:
    """Return all words that may follow those in `before`."""
    known = [name.split() for name in ship.commands]
    lowered = [word.lower() for word in before]
    following = [
        words[len(before)] for words in known if len(words) > len(before) and words[: len(before)] == lowered
    ]
    aside = () if before else ASIDE
    return [*dict.fromkeys(following), *_arguments(ship, lowered), *aside]


def _arguments(ship: Ship, before: list[str]) -> Iterable[str]:
    """Return the arguments that may follow a command and its first arguments."""
    match before:
        case ["list", "parts", *_, name] if name in FILTERS:
            return filter_values(ship, name)
        case ["list", "parts", *used]:
            return [name for name in FILTERS if name not in used]
        case ["show" | "self-test"] | ["power", "on" | "off"]:
            return ship.ids
        case ["telemetry"]:
            return ship.parts
        case ["transmit" | "receive"]:
            return radios(ship)
        case ["help"]:
            return [*ship.commands, *ASIDE]
        case ["wait"]:
            return DURATIONS
        case ["set"]:
            return [ident for ident in ship.ids if ship.settings_of(ident)]
        case ["telemetry", ident] if ident.upper() in ship.parts:
            return ship.telemetry_of(ident.upper())
        case ["set", ident, *rest] if ident.upper() in ship.ids:
            return _setting_words(ship, ident.upper(), rest)
    return ()


def _setting_words(ship: Ship, ident: str, rest: list[str]) -> Iterable[str]:
    """Return the setting keys of an id or, after a key, its values; the keys of radios stay secret."""
    settings = ship.settings_of(ident)
    match rest:
        case []:
            return settings
        case [key] if key.upper() in settings:
            setting = settings[key.upper()]
            return setting.values or (() if setting.pattern else (setting.default,))
    return ()
