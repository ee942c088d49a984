"""The ways in which words may be written, of which only those are looked for that a text can have.

One pattern of all that a thousand memories say takes long on every text. To look which of their parts a text
has at all takes little of that, and leaves a pattern of a few.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.answering.recollection import NAMED

GRAM = 4  # characters
FEW = 50  # forms that are quickly looked for as they are


@dataclass(frozen=True, slots=True)
class Form:
    """A way of writing some words: a regular expression, and what a text that it matches has, folded."""

    expression: str
    has: tuple[str, ...]
    grams: frozenset[str]  # of what it has


@dataclass(frozen=True, slots=True)
class Forms:
    """Forms in the order in which they are tried; falsy where there are none."""

    forms: tuple[Form, ...] = ()

    def __len__(self) -> int:
        return len(self.forms)

    def within(self, text: str) -> Forms:
        """Those that can be in a text, or in a part of it."""
        there, forms = folded(text), self.forms
        if len(self) > FEW:
            grams = grams_of(there)
            forms = tuple(form for form in forms if form.grams <= grams)
        return Forms(tuple(form for form in forms if all(part in there for part in form.has)))

    def pattern(self) -> re.Pattern[str] | None:
        """A pattern for any of them; the id of a memory that is named stays, whatever it has of them."""
        if not self.forms:
            return None
        kept = f"(?P<kept>{NAMED.pattern})"
        return re.compile("|".join([kept, *(form.expression for form in self.forms)]), re.IGNORECASE)


def folded(text: str) -> str:
    """A text in which all letters are one that `re.IGNORECASE` takes for one."""
    return text.replace("İ", "i").replace("ı", "i").casefold()


def of_parts(expression: str, parts: Iterable[str]) -> Form:
    """A form that has these parts."""
    has = tuple(dict.fromkeys(map(folded, parts)))
    return Form(expression, has, frozenset().union(*map(grams_of, has)))


def grams_of(text: str) -> set[str]:
    """What stands in a text, `GRAM` characters long."""
    return {text[start : start + GRAM] for start in range(len(text) - GRAM + 1)}
