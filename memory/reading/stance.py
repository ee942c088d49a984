"""How a clause says what it says, so that one rule reads all ways to say it.

It is spelt out, and told in the present without a denial: "I dont live in Oslo any more" is "I live in Oslo",
which is over; "we're moving to Bonn in June" is "we moved to Bonn", planned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from memory.reading import rules_of
from memory.reading.entities import entity_words

_SHOUTED = re.compile(r"\b(?:NOT|NEVER|NO LONGER|CANNOT|[A-Z]+N['’]?T)\b")
_SMALL = re.compile(r"(?<![\w/.@`-])[a-z]{3,}(?![\w/@`(]|\.\w)")


@dataclass(frozen=True, slots=True)
class Stance:
    """A clause in the present and without a denial, and what it said beside that."""

    text: str
    ends: bool = False  # it was so and is no longer
    over: bool = False  # the same in so many words: "no longer", "stopped", and not by its tense
    negated: bool = False  # it is not so
    planned: bool = False  # it is to be so


def spelt_out(text: str) -> str:
    """With what hurried writers leave out."""
    text = _SHOUTED.sub(lambda match: match[0].lower(), text)
    for pattern, right in _spelt():
        text = pattern.sub(right, text)
    if start := _no_subject().match(text):
        verb = start["begin"].casefold().split()[-1]
        is_ = start["not"] or verb in _words()["planned"] or verb in ("working", "living", "with", "longer")
        text = f"I {'am ' if is_ else ''}{text[0].lower()}{text[1:]}"
    return text


def stance_of(text: str) -> Stance:
    """The stance of a clause that is spelt out."""
    stance = Stance(text)
    for kinds, pattern, instead in _changes():
        changed, count = pattern.subn(instead, stance.text, count=1)
        if count:
            stance = Stance(
                changed.strip(),
                ends=stance.ends or "ends" in kinds,
                over=stance.over or "over" in kinds,
                negated=stance.negated or "negated" in kinds,
                planned=stance.planned or "planned" in kinds,
            )
    return stance


def with_names(text: str, people: Collection[str] = ()) -> str:
    """A message with capitals where a hurried writer leaves them out: in names that are known."""
    known = frozenset(name.casefold() for name in people)
    text = re.sub(r"(?<=\s)n(?=\s)", "&", text)
    return _SMALL.sub(
        lambda match: match[0].capitalize() if match[0] in known or match[0] in _given_names() else match[0],
        text,
    )


@lru_cache(maxsize=1)
def _given_names() -> frozenset[str]:
    return frozenset(entity_words()["given_name"].casefold().split("|")) - set(_words()["names_and_words"])


@lru_cache(maxsize=1)
def _spelt() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), right) for pattern, right in _words()["spelt"])


@lru_cache(maxsize=1)
def _no_subject() -> re.Pattern[str]:
    return re.compile(_words()["no_subject"], re.IGNORECASE)


def _words() -> Mapping[str, Any]:
    return rules_of("statements")["stance"]  # type: ignore[no-any-return]


Instead = str | Callable[[re.Match[str]], str]


@lru_cache(maxsize=1)
def _changes() -> tuple[tuple[tuple[str, ...], re.Pattern[str], Instead], ...]:
    """What each way to say it says, and what is left without it; in order."""
    rows: tuple[tuple[str, str, Instead], ...] = (
        ("ends over", r"\bno longer ", ""),
        ("ends over", r"\b(?:do|does) not (.+?),? any ?(?:more|longer)$", r"\1"),
        ("ends over", r"\b(am|is|are) not (.+?),? any ?(?:more|longer)$", r"\1 \2"),
        ("ends over", r"\b(am|is|are) off (?!to\b|for\b|on\b|sick\b|work\b)", r"\1 on "),
        ("ends over", r"\bused to (?=[a-z])", ""),
        ("ends over", r"\b(?:have |has )?(?:stopped|quit|given up|gave up) (?=[a-z]{2,}ing\b)", "am "),
        (
            "ends",
            r"(?<!have )(?<!has )(?<!who )\b(lived|worked|studied|owned|had(?= an? )|drove)\b(?!.*\bsince\b)",
            lambda match: _words()["past"][match[1]],
        ),
        ("negated", r"\b(?:do|does|did) not (?:really |much |even )?", ""),
        ("negated", r"\b(am|is|are|have|has) not (?:really )?(?!.*[,;] (?:but|it))", r"\1 "),
        (
            "planned",
            rf"\b(?:am|is|are) ({'|'.join(_words()['planned'])})\b",
            lambda match: _words()["planned"][match[1]],
        ),
    )
    return tuple((tuple(kinds.split()), re.compile(pattern), instead) for kinds, pattern, instead in rows)
