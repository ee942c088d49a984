"""Tab-completion: what the last word of a line may become."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mission.console import ASIDE, FILTERS, filter_values
from mission.radio import radios
from mission.ship import Ship

LEAVE = ("quit", "exit")
DURATIONS = ("5m", "10m", "30m", "90m", "1h", "2h")


def complete(ship: Ship, line: str) -> list[str]:
    """Return the completions of the line's last word; a space at the end starts a new word."""
    *before, word = line.split(" ") if line else [""]
    before = [w for w in before if w]
    return [option for option in _options(ship, before) if option.lower().startswith(word.lower())]


def _options(ship: Ship, before: Sequence[str]) -> Iterable[str]:
    """Return all words that may follow."""
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
    """Return the keys of an id, then the values of a key; radio keys stay secret."""
    settings = ship.settings_of(ident)
    match rest:
        case []:
            return settings
        case [key] if key.upper() in settings:
            setting = settings[key.upper()]
            return setting.values or (() if setting.pattern else (setting.default,))
    return ()
