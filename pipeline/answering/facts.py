"""Facts that can be compared exactly: numbers with units, ids, commands, negation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

GROUPS = "[,\u00a0\u2009\u202f]"  # between thousands; not a plain space, which may also separate two numbers
NUMBER = re.compile(rf"(?<![\w.-])[-−]?(?:\d{{1,3}}(?:{GROUPS}\d{{3}})+|\d+)(?:\.\d+)?(?![\w-])")
RANGE = re.compile(r"(?<=\d)-(?=\d)")  # 5-10 kPa: two numbers, the second one not negative
NUMBER_WITH_UNIT = re.compile(r"(?<![\w.-])(\d+(?:\.\d+)?)([A-Za-zµΩ%]{1,4})\b")  # 5kPa, 12V
UNIT = re.compile(r"^\s?(%|°?[A-Za-zµΩ]{1,7}(?:/[A-Za-z]{1,4})?)(?![\w-])")
LIST_NUMBER = re.compile(r"^\s*\d+[.)]\s+", re.MULTILINE)
IDENTIFIER = re.compile(
    r"\b[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*-(?:[A-Z][A-Z0-9]*|\d[A-Za-z0-9]*)\b|\b[A-Z]{2,}\d+\b"
)
COMMAND = re.compile(r"`([^`\n]+)`")
NEGATION = re.compile(
    r"\b(not|no|never|none|nothing|neither|nor|without|cannot|unable|except|\w+n't|\w+n’t)\b", re.IGNORECASE
)
SPELLED_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
    )
}
SPELLED_UNITS = {
    "percent": "%",
    "second": "s",
    "sec": "s",
    "minute": "min",
    "hour": "h",
    "hr": "h",
    "day": "d",
    "volt": "v",
    "watt": "w",
    "amp": "a",
    "ampere": "a",
    "kilogram": "kg",
    "gram": "g",
    "litre": "l",
    "liter": "l",
    "metre": "m",
    "meter": "m",
    "degree": "°c",
    "celsius": "°c",
    "c": "°c",
}
UNITS = frozenset(
    (  # noqa: SIM905
        "% s min h d ms v w a k kg g mg l ml m km cm mm °c pa kpa mpa bar psi mmhg kw mw wh kwh ma ah mv kv "
        "n kn j kj hz khz mhz ghz rpm ppm kb mb gb db dbm m/s km/h kg/h g/h l/h l/min"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a text states exactly, in comparable form: each number with the units it has."""

    numbers: Mapping[str, frozenset[str]]
    identifiers: frozenset[str]
    commands: frozenset[str]
    negated: bool
    spelled: frozenset[str] = frozenset()  # numbers in words: "two tanks" supports "2 tanks"


def facts_of(text: str) -> Facts:
    """The facts of a text; the numbers of list items do not count."""
    words = {word.casefold() for word in re.findall(r"[^\W\d]+", text)}
    return Facts(
        _numbers(RANGE.sub("–", IDENTIFIER.sub(" ", LIST_NUMBER.sub("", text)))),
        frozenset(match.casefold() for match in IDENTIFIER.findall(text)),
        frozenset(" ".join(match.split()).casefold() for match in COMMAND.findall(text)),
        bool(NEGATION.search(text)),
        frozenset(number for word, number in SPELLED_NUMBERS.items() if word in words),
    )


def missing_numbers(stated: Facts, given: Facts) -> list[str]:
    """Numbers that are not given, or given only with another unit (5 kPa is not 5 bar)."""
    missing = []
    for number, units in stated.numbers.items():
        known = given.numbers.get(number)
        if known is None and number in given.spelled:
            continue
        if known is None or (units and known and not units & known):
            missing.append(" ".join([number, *sorted(units)[:1]]))
    return missing


def _numbers(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for match in NUMBER.finditer(text):
        unit = UNIT.match(text[match.end() :])
        found.setdefault(_plain(match[0]), set()).update(_unit(unit[1]) if unit else ())
    for match in NUMBER_WITH_UNIT.finditer(text):
        if _unit(match[2]):
            found.setdefault(_plain(match[1]), set()).update(_unit(match[2]))
    return {number: frozenset(units) for number, units in found.items()}


def _unit(written: str) -> tuple[str, ...]:
    """The unit's canonical name; nothing where the word is not a unit."""
    name = written.casefold()
    name = SPELLED_UNITS.get(name) or SPELLED_UNITS.get(name.removesuffix("s")) or name
    return (name,) if name in UNITS else ()


def _plain(written: str) -> str:
    """`1,000` → 1000, `5.0` → 5, `−3` → -3."""
    number = re.sub(GROUPS, "", written).replace("−", "-")
    return number.rstrip("0").rstrip(".") if "." in number else number
