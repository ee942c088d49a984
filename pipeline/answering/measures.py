"""Units in their canonical form, and how many of one are another."""

from __future__ import annotations

SPELLED_UNITS = {
    "percent": "%",
    "millisecond": "ms",
    "msec": "ms",
    "second": "s",
    "sec": "s",
    "minute": "min",
    "hour": "h",
    "hr": "h",
    "day": "d",
    "volt": "v",
    "watt": "w",
    "kilowatt": "kw",
    "amp": "a",
    "ampere": "a",
    "kilogram": "kg",
    "gram": "g",
    "milligram": "mg",
    "litre": "l",
    "liter": "l",
    "millilitre": "ml",
    "milliliter": "ml",
    "metre": "m",
    "meter": "m",
    "centimetre": "cm",
    "centimeter": "cm",
    "millimetre": "mm",
    "millimeter": "mm",
    "kilometre": "km",
    "kilometer": "km",
    "degree": "°",
    "celsius": "°c",
    "c": "°c",
    "kilobyte": "kb",
    "kib": "kb",
    "megabyte": "mb",
    "mib": "mb",
    "gigabyte": "gb",
    "gib": "gb",
    "terabyte": "tb",
    "tib": "tb",
    "kilopascal": "kpa",
    "hertz": "hz",
    "kilohertz": "khz",
    "megahertz": "mhz",
    "gigahertz": "ghz",
    "decibel": "db",
    "char": "character",
}
UNIT_WORDS = """
% s min h d week month year ms v w a k kg g mg l ml m km cm mm ° °c pa kpa mpa bar psi mmhg kw mw wh kwh mwh
ma ah mv kv n kn j kj hz khz mhz ghz rpm ppm kb mb gb tb bit byte db dbm m/s km/h kg/h g/h l/h l/min character
"""
UNITS = frozenset(UNIT_WORDS.split())
SAME_SIZE = {
    "%": ("share", 1.0),
    "ms": ("time", 0.001),
    "s": ("time", 1.0),
    "min": ("time", 60.0),
    "h": ("time", 3600.0),
    "d": ("time", 86_400.0),
    "week": ("time", 604_800.0),
    "byte": ("bytes", 1.0),
    "kb": ("bytes", 2.0**10),
    "mb": ("bytes", 2.0**20),
    "gb": ("bytes", 2.0**30),
    "tb": ("bytes", 2.0**40),
    "w": ("power", 1.0),
    "kw": ("power", 1000.0),
    "pa": ("pressure", 1.0),
    "kpa": ("pressure", 1000.0),
    "g": ("mass", 1.0),
    "kg": ("mass", 1000.0),
    "ml": ("volume", 0.001),
    "l": ("volume", 1.0),
    "mm": ("length", 0.001),
    "cm": ("length", 0.01),
    "m": ("length", 1.0),
    "km": ("length", 1000.0),
}
"""A unit's kind, and what one of it is in the first unit of that kind."""


def unit_of(written: str) -> str:
    """The unit's canonical name; "" where the word is not a unit."""
    name = written.casefold()
    single = name.removesuffix("s") or name
    name = SPELLED_UNITS.get(name) or SPELLED_UNITS.get(single) or (name if name in UNITS else single)
    return name if name in UNITS else ""
