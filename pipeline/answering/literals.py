"""The literals of a text, which can be compared in any language: numbers, ids and commands."""

from __future__ import annotations

import re
from dataclasses import dataclass

GROUPS = "[,\u00a0\u2009\u202f]"  # between thousands; not a plain space, which may also separate two numbers
SIGN = "%|°[CFK]?|[a-zµ]?[A-ZΩ]{1,2}[a-z]?"  # of a unit, recognised by its form: %, °C, W, kPa, MHz
NUMBER = re.compile(
    rf"(?<![\w.])([-−]?(?:\d{{1,3}}(?:{GROUPS}\d{{3}})+|\d+)(?:\.\d+)?)(?!\d)(?:\s?({SIGN})(?!\w))?"
)
RANGE = re.compile(r"(?<=\d)-(?=\d)")  # 5-10 kPa: two numbers, the second one not negative
LIST_NUMBER = re.compile(r"^\s*\d+[.)]\s+|(?<=[:.])\s+\d+\.\s*$", re.MULTILINE)
VERSION = re.compile(r"\bv?\d+(?:\.\d+){2,}\b|\bv\d+(?:\.\d+)*\b", re.IGNORECASE)
IDENTIFIER = re.compile(
    r"\b[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*-(?:[A-Z][A-Z0-9]*|\d[A-Za-z0-9]*)\b|\b[A-Z]{2,}\d{2,}\b"
    r"|\b(?![HNO][23]\b)[A-Z]\d+\b"  # K12, V1, but not gases such as O2
)
COMMAND = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True, slots=True)
class Literals:
    """The literals of a text, normalised for comparison."""

    numbers: frozenset[tuple[str, str]]  # (number without separators and trailing zeros, unit or "")
    identifiers: frozenset[str]  # ids and versions, casefolded
    commands: frozenset[str]  # casefolded, white space as single blanks


def literals_of(text: str) -> Literals:
    """Return the literals of a text, without the numbers of list items."""
    plain = IDENTIFIER.sub(" ", VERSION.sub(" ", LIST_NUMBER.sub("", text)))
    commands = (" ".join(found.split()).casefold() for found in COMMAND.findall(text))
    return Literals(
        frozenset((_plain(number), sign) for number, sign in NUMBER.findall(RANGE.sub("–", plain))),
        frozenset(found.casefold() for found in (*IDENTIFIER.findall(text), *VERSION.findall(text))),
        frozenset(command for command in commands if re.search(r"\w", command)),
    )


def missing_numbers(stated: Literals, given: Literals) -> list[str]:
    """Return the numbers of `stated` that `given` lacks or has only with other units, sorted as text."""
    signs: dict[str, set[str]] = {}
    for number, sign in given.numbers:
        signs.setdefault(number, set()).add(sign)
    return [
        " ".join(filter(None, (number, sign)))
        for number, sign in sorted(stated.numbers)
        if number not in signs or (sign and "" not in signs[number] and sign not in signs[number])
    ]


def missing_names(stated: Literals, given: Literals, near: str, far: str) -> list[str]:
    """Return the ids of `stated` that neither `given` nor `near` has, then its commands that `far` lacks."""
    near, far = (" ".join(text.casefold().split()) for text in (near, far))
    lacking = stated.identifiers - given.identifiers
    return [
        *sorted(name.upper() for name in lacking if not _stands_in(name, near)),
        *sorted(command for command in stated.commands if not _stands_in(command, far)),
    ]


def _stands_in(name: str, text: str) -> bool:
    """Return whether the text has the name on its own, not as part of another (P-1 in P-10)."""
    return bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def _plain(written: str) -> str:
    """Normalise a number: `1,000` → 1000, `5.0` → 5, `−3` → -3."""
    number = re.sub(GROUPS, "", written).replace("−", "-")
    return number.rstrip("0").rstrip(".") if "." in number else number
