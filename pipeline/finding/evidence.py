"""Evidence: whether passages have the kind of fact that a question asks for, and the words that name it.

"Who made the fan?" is about the fan, and a passage about the fan is near it whether or not it names anybody.
What is missing there is a name; for "at what temperature …?" it is a number with a unit of temperature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.terms import content_terms

_MONTH = (
    r"(january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b"
)
_COUNT = r"(\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|twelve|half|hundred|thousand)\b)"
_TIME = r"(ns|µs|us|ms|s|secs?|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?|\w+seconds?)\b"


class _Fact(NamedTuple):
    asked: re.Pattern[str]
    found: re.Pattern[str]


def _fact(asked: str, found: str, *, names: bool = False) -> _Fact:
    return _Fact(re.compile(asked, re.I), re.compile(found, 0 if names else re.I))


# Two capitalised words inside a sentence: those at its beginning, in headings and tables are no names.
_NAME = _fact(
    r"\bwho (built|made|makes|created?|invented|designed|wrote|founded|developed|sells?|discovered)\b"
    r"|\bwho (was|were|is|are) (the|behind)\b|\b(the )?names? of (the|a|an)\b|\bwhose name\b"
    r"|\b(which|what) (company|companies|person|people|vendor|manufacturer|author)\b",
    r"(?<=\w )[A-Z][a-z]+ [A-Z][a-z]+\b",
    names=True,
)
# In this order, and the first that is asked for counts.
_FACTS = (
    _NAME,
    _fact(
        r"\b(which|what|calendar) (\w+ )?(date|year)\b|\bwhen (was|were|did)\b",
        rf"\b(19|20)\d\d\b|\b\d{{1,2}}(st|nd|rd|th)?\.? (of )?{_MONTH}|\b{_MONTH}\.? \d",
    ),
    _fact(
        r"\bprices?\b|\bhow much (do|does|did|will|would|is|are)\b.*\bcosts?\b|\bcosts? of\b"
        r"|\bearn\b|\bsalary\b",
        r"[$€£]|\b(usd|eur|gbp|dollars?|euros?|pounds?|cents?)\b",
    ),
    _fact(r"\bhow old\b|\bage of\b", r"\byears? old\b|\baged\b|\bborn\b"),
    _fact(
        r"\bfrequency\b.*\b[mgk]?hz\b|\b[mgk]hz\b|\b(what|which) frequency\b", r"\d\s?[mgk]?hz\b|\[[mgk]?hz\]"
    ),
    _fact(
        r"\bat (what|which) temperature\b|\b(what|which)( is the| are the)? (\w+ )?temperature\b"
        r"|\bhow (hot|cold|warm)\b",
        r"\d\s?(°|k\b|degrees|c\b|f\b)|°c",
    ),
    _fact(
        r"\bhow (thick|tall|wide|far|deep)\b|\bdistance (to|from|between)\b",
        r"\d\s?([kcmµ]?m|ft|feet|inch(es)?|in|miles?)\b|\bmet(er|re)s?\b",
    ),
    _fact(
        r"\bhow heavy\b|\bhow much (do|does) .*\bweigh\b|\b(mass|weight) of\b", r"\d\s?(k?g|t|lbs?|tons?)\b"
    ),
    _fact(
        r"\bhow (long|soon) (do|does|will|can|could|is|are|until|before|after|to)\b"
        rf"|\bhow (many|much|few) {_TIME}",
        rf"{_COUNT}[\w.,]*\s?(an? |more )?{_TIME}|\[(s|min|h)\]",
    ),
    _fact(r"\bhow many\b", _COUNT),
)
# The words right after the word that asks: "which company", "what frequency", "the name of the director".
_FOCUS = re.compile(r"\b(what|which|whose|how (?:many|much)|name of|in)\b((?:\W+\w+){1,3})", re.I)


def lacks_fact(question: str, texts: Iterable[str]) -> bool:
    """True where the question asks for a kind of fact that none of the texts has."""
    fact = next((fact for fact in _FACTS if fact.asked.search(question)), None)
    return fact is not None and not any(fact.found.search(text) for text in texts)


def focus_terms(question: str) -> tuple[str, ...]:
    """The content terms that say what sort of thing is asked for; none where no word asks for one."""
    found = _FOCUS.search(question)
    if not found:
        return ()
    wanted = set(content_terms(question))
    return tuple(term for term in content_terms(found[2]) if term in wanted)
