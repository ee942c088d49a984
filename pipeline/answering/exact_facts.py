"""Facts that can be compared exactly: numbers with units, ids, commands.

Numbers in words are read as digits: "two and a half hours" → 2.5 hours, "a quarter of an hour" → 0.25 hour.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from pipeline.terms import content_terms, stop_terms
from pipeline.words import table

_UNITS = [*table(__file__, "units.tsv")]
UNITS = frozenset(unit for unit, *_ in _UNITS)
SPELLED_UNITS = {word: unit for unit, spelled, *_ in _UNITS for word in spelled.split()}
SAME_SIZE = {unit: (kind, float(size)) for unit, _, kind, size in _UNITS if kind}
"""A unit's kind, and what one of it is in the first unit of that kind."""


def unit_of(written: str) -> str:
    """The unit's canonical name; "" where the word is not a unit."""
    name = written.casefold()
    single = name.removesuffix("s") or name
    name = SPELLED_UNITS.get(name) or SPELLED_UNITS.get(single) or (name if name in UNITS else single)
    return name if name in UNITS else ""


SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
GREAT = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
VALUES = {word: number for number, word in enumerate(SMALL)} | {
    word: 10 * number for number, word in enumerate(TENS, start=2)
}
SPELLED = re.compile(
    rf"\b(?:({'|'.join(TENS)})-({'|'.join(SMALL[1:10])})|({'|'.join(VALUES)}))\b"
    r"(?!-(?!second|minute|hour|day|week|month|year|litre|byte|bit))",
    re.IGNORECASE,
)
TIME = "seconds?|minutes?|hours?|days?|weeks?|months?|years?"
MEASURED = f"{TIME}|bits?|bytes?|kilobytes?|megabytes?|percent|litres?|metres?|degrees?"
COUNTED_ONE = re.compile(rf"\b1 (?!(?:{MEASURED})\b)", re.IGNORECASE)
SPELLED_RATE = re.compile(rf"(\d ?[^\W\d]{{1,12}}(?: of \w+)?) an? ({TIME})\b", re.IGNORECASE)
GREAT_NUMBER = re.compile(rf"\b(\d+(?:\.\d+)?) ({'|'.join(GREAT)})\b", re.IGNORECASE)
AN_HOUR = rf"(?<!per )(?<!each )(?<!every )\b(?<!\d )an? ({TIME})\b(?! later| ago)"
PHRASES = tuple(
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        (r"\b(?:twice|double)\b", "2 times"),
        (r"\b(?:thrice|triple)\b", "3 times"),
        (r"\b(\d)0? tenths\b", r"\g<1>0 %"),
        (rf"\b(\d+) ({TIME}) and a half\b", r"\1.5 \2"),
        (rf"\b(?:an?|one) ({TIME}) and a half\b", r"1.5 \1s"),
        (r"\b(\d+) and a half\b", r"\1.5"),
        (r"\b(\d+) and a quarter\b", r"\1.25"),
        (rf"\bhalf[- ](?:an? )?({TIME})\b", r"0.5 \1"),
        (rf"\b(?:an? )?quarter of an? ({TIME})\b", r"0.25 \1"),
        (rf"\b(?:3|three) quarters of an? ({TIME})\b", r"0.75 \1"),
        (AN_HOUR, r"1 \1"),
    )
)


def in_digits(text: str) -> str:
    """The text with its numbers in digits; "one" only where it measures ("one of them" does not)."""
    text = SPELLED_RATE.sub(r"\1 per \2", GREAT_NUMBER.sub(_great, SPELLED.sub(_digits, text)))
    for pattern, written in PHRASES:
        text = pattern.sub(written, text)
    return COUNTED_ONE.sub("one ", text)


def _great(match: re.Match[str]) -> str:
    return f"{round(float(match[1]) * GREAT[match[2].casefold()], 3):.15g}"


def _digits(match: re.Match[str]) -> str:
    tens, ones, alone = match.groups()
    if alone is None:
        return str(VALUES[tens.casefold()] + VALUES[ones.casefold()])
    return str(VALUES[alone.casefold()])


GROUPS = "[,\u00a0\u2009\u202f]"  # between thousands; not a plain space, which may also separate two numbers
NUMBER = re.compile(rf"(?<![\w.-])[-−]?(?:\d{{1,3}}(?:{GROUPS}\d{{3}})+|\d+)(?:\.\d+)?(?![\w-])")
RANGE = re.compile(r"(?<=\d)-(?=\d)")  # 5-10 kPa: two numbers, the second one not negative
WITH_UNIT = re.compile(r"(?<![\w.-])(\d+(?:\.\d+)?)[-]?([A-Za-zµΩ%]{1,11})\b")  # 5kPa, 12V, 60-litre
UNIT = re.compile(r"^\s?(%|°?[A-Za-zµΩ]{1,12}(?:/[A-Za-z]{1,4})?)(?![\w-])")
RATE = re.compile(
    r"^\s*[^\s\d.,;]{1,14}\s*(?:/\s*|(?:(?:of )?\w+ )?(?:per|an?|each|every) )([A-Za-z]+)", re.IGNORECASE
)
ROUGH = re.compile(
    r"\b(?:about|around|roughly|approximately|nearly|almost|over|under|just|bit|more than|less than|some)\s+"
    r"(?:(?:under|over|more|less|than|a|an)\s+)*$",
    re.IGNORECASE,
)
LIST_NUMBER = re.compile(r"^\s*\d+[.)]\s+|(?<=[:.])\s+\d+\.\s*$", re.MULTILINE)
VERSION = re.compile(r"\bv?\d+(?:\.\d+){2,}\b|\bv\d+(?:\.\d+)*\b", re.IGNORECASE)
IDENTIFIER = re.compile(
    r"\b[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*-(?:[A-Z][A-Z0-9]*|\d[A-Za-z0-9]*)\b|\b[A-Z]{2,}\d{2,}\b"
    r"|\b(?![HNO][23]\b)[A-Z]\d+\b"  # K12, V1, but not the gases
)
COMMAND = re.compile(r"`([^`\n]+)`")
PER = re.compile(r"\b(?:per|every|each|(?:once|twice|times) an?) ([A-Za-z]+)\b", re.IGNORECASE)
IN = re.compile(r"\b(?:in|few|several|many|couple of) ([A-Za-z]{3,})\b", re.IGNORECASE)
OFTEN_UNITS = {"hourly": "h", "daily": "d", "weekly": "week", "monthly": "month", "yearly": "year"}
OFTEN = re.compile(rf"\b(?:{'|'.join(OFTEN_UNITS)})\b", re.IGNORECASE)
MOST_SPELLED = 20
COUNTED = 24  # characters after a number in which what it counts is named
EXACT = 1e-9
TOLERANCE = 0.12  # "about an hour and a half" for 85 minutes


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it measures or counts."""

    number: str
    unit: str = ""  # canonical; "" where the next word is none
    rate: str = ""  # per what: a unit of time
    counted: frozenset[str] = frozenset()  # the terms of the words after it
    rough: bool = False  # "about", "just under"
    spelled: bool = False  # in words, where it is often no statement: "two of them", "an hour"

    @property
    def size(self) -> tuple[str, float] | None:
        """What it comes to in the smallest unit of its kind."""
        if self.unit not in SAME_SIZE:
            return None
        kind, factor = SAME_SIZE[self.unit]
        return kind, round(float(self.number) * factor, 6)

    def __str__(self) -> str:
        return " ".join(filter(None, [self.number, self.unit]))


@dataclass(frozen=True, slots=True)
class Facts:
    """What a text states exactly, in comparable form."""

    quantities: tuple[Quantity, ...]
    identifiers: frozenset[str]
    commands: frozenset[str]
    measures: frozenset[str] = frozenset()  # "per h", "in ms": units without a number of their own

    @property
    def numbers(self) -> frozenset[str]:
        """Its numbers alone."""
        return frozenset(quantity.number for quantity in self.quantities)


def facts_of(text: str) -> Facts:
    """The facts of a text; the numbers of list items do not count."""
    plain = IDENTIFIER.sub(" ", VERSION.sub(" ", LIST_NUMBER.sub("", text)))
    written = {_plain(number) for number in re.findall(rf"\d+(?:{GROUPS}\d{{3}})*(?:\.\d+)?", plain)}
    return Facts(
        tuple(dict.fromkeys(_quantities(RANGE.sub("–", in_digits(plain)), written))),
        frozenset(match.casefold() for match in (*IDENTIFIER.findall(text), *VERSION.findall(text))),
        frozenset(
            " ".join(match.split()).casefold() for match in COMMAND.findall(text) if re.search(r"\w", match)
        ),
        frozenset(_measures(text)),
    )


def together(one: Facts, two: Facts) -> Facts:
    """The facts of two texts."""
    return Facts(
        tuple(dict.fromkeys([*one.quantities, *two.quantities])),
        one.identifiers | two.identifiers,
        one.commands | two.commands,
        one.measures | two.measures,
    )


def missing_numbers(stated: Facts, given: Facts) -> list[str]:
    """Numbers that are not given, or given only with another unit (5 kPa is not 5 bar) or of other things."""
    sums = list(_sums(given.quantities))
    numbers = [
        str(quantity)
        for quantity in stated.quantities
        if not _is_given(quantity, given.quantities, sums) and not _is_idle(quantity, given.quantities)
    ]
    return numbers + [measure for measure in sorted(stated.measures) if _is_other(measure, given.measures)]


def _is_other(measure: str, given: Collection[str]) -> bool:
    """True for "per d" where only "per h" is given."""
    how = measure.split()[0]
    return measure not in given and any(other.startswith(f"{how} ") for other in given)


def _is_idle(stated: Quantity, given: Iterable[Quantity]) -> bool:
    """True for a small number in words of which the text has no other: "dividing two integers"."""
    if not stated.spelled:
        return False
    if stated.number == "1":
        return not any(other.number == "1" and _clash(stated.unit, other.unit) for other in given)
    return not stated.unit and not any(_is_small(other) for other in given)


def _is_small(quantity: Quantity) -> bool:
    """True for a number of things, such as one writes in words."""
    return not quantity.unit and bool(quantity.counted) and 1 < float(quantity.number) <= MOST_SPELLED


def _is_given(stated: Quantity, given: Iterable[Quantity], sums: Sequence[tuple[str, float]]) -> bool:
    same = [other for other in given if other.number == stated.number]
    if any(_agree(stated, other) for other in same):
        return not _counts_otherwise(stated, same, given)
    if stated.size is None:
        return False
    near = TOLERANCE if stated.rough else EXACT
    found = [other.size for other in given if other.size and not _clash(stated.rate, other.rate)]
    return any(_same_size(stated.size, other, near=near) for other in [*found, *sums])


def _same_size(one: tuple[str, float], two: tuple[str, float], *, near: float) -> bool:
    return one[0] == two[0] and abs(one[1] - two[1]) <= near * max(abs(one[1]), abs(two[1]))


def _agree(one: Quantity, two: Quantity) -> bool:
    if _clash(one.unit, two.unit) or _clash(one.rate, two.rate):
        return False
    # 5 minutes are not 5 shards; "person-hours" are hours.
    noun = one.counted if two.unit else two.counted if one.unit else frozenset()
    return bool(one.unit) == bool(two.unit) or not noun or (one.unit or two.unit) in map(unit_of, noun)


def _clash(one: str, two: str) -> bool:
    return bool(one and two and one != two)


def _counts_otherwise(stated: Quantity, same: Iterable[Quantity], given: Iterable[Quantity]) -> bool:
    """Six cartridges, where the text has day 6 and eight cartridges."""
    if stated.unit or not stated.counted:
        return False
    if any(stated.counted & other.counted for other in same):
        return False
    return any(stated.counted & other.counted and not other.unit for other in given)


def _sums(given: Sequence[Quantity]) -> Iterator[tuple[str, float]]:
    """2 hours 44 minutes; 29 % and 5 %."""
    sized = [quantity.size for quantity in given if quantity.size and not quantity.rate]
    for (kind, size), (other, more) in combinations(dict.fromkeys(sized[:12]), 2):
        if kind == other:
            yield kind, round(size + more, 6)


def _quantities(text: str, written: Collection[str]) -> Iterator[Quantity]:
    for match in NUMBER.finditer(text):
        rest = text[match.end() :]
        word = UNIT.match(rest)
        unit = unit_of(word[1]) if word else ""
        rate = RATE.match(rest)
        yield Quantity(
            _plain(match[0]),
            unit,
            unit_of(rest[rate.start(1) : rate.end(1)]) if rate else "",
            frozenset() if unit else _counted(rest),
            bool(ROUGH.search(text[max(0, match.start() - 24) : match.start()])),
            _plain(match[0]).lstrip("-") not in written,
        )
    for match in WITH_UNIT.finditer(text):
        if unit := unit_of(match[2]):
            yield Quantity(_plain(match[1]), unit)


def _measures(text: str) -> Iterator[str]:
    for match in PER.finditer(text):
        if unit := unit_of(match[1]):
            yield f"per {unit}"
    for match in OFTEN.finditer(text):
        yield f"per {OFTEN_UNITS[match[0].casefold()]}"
    for match in IN.finditer(text):
        if unit := unit_of(match[1]):
            yield f"in {unit}"


def _counted(rest: str) -> frozenset[str]:
    words = re.match(r"\s+([A-Za-z][\w-]*(?:\s+[A-Za-z][\w-]*)?)", rest[:COUNTED])
    return frozenset(content_terms(words[1])) - stop_terms() if words else frozenset()


def _plain(written: str) -> str:
    """`1,000` → 1000, `5.0` → 5, `−3` → -3."""
    number = re.sub(GROUPS, "", written).replace("−", "-")
    return number.rstrip("0").rstrip(".") if "." in number else number
