"""How much a statement matters, by rules; 5 where none says otherwise."""

from __future__ import annotations

import re
from typing import NamedTuple


class Importance(NamedTuple):
    """How much something matters, 1 to 10, and why."""

    rating: int
    explanation: str


UNKNOWN = Importance(5, "nothing says how much it matters")

_RULES: tuple[tuple[int, str, str], ...] = (
    (
        9,
        "health",
        r"allerg\w+|anaphyla\w+|insulin|diabet\w+|epilep\w+|medication|asthma|heart condition|pregnan\w+"
        r"|intoleran\w+|blood (?:type|group)",
    ),
    (9, "an emergency", r"emergenc\w+|life[- ]threatening|danger(?:ous)?|fatal|evacuat\w+"),
    (
        8,
        "a loss, a birth or a marriage",
        r"died|passed away|funeral|gave birth|was born|divorc\w+|married|got engaged|cancer",
    ),
    (8, "who somebody is", r"(?:my|our)(?: full| first| last)? name|call me|birthday"),
    (
        7,
        "where somebody lives or works, or family",
        r"(?:live|lives|living|moved|based) (?:in|near|to)|work(?:s|ed|ing)? (?:at|for|as)"
        r"|(?:my|our) (?:job|employer|address|home|wife|husband|partner|son|daughter|child|children|kids)\b",
    ),
    (7, "a time that must be kept", r"deadline|due (?:on|by)|appointment|flight at|exam\b|interview"),
    (7, "a rule", r"must|never|always|important(?:ly)?|critical|essential"),
    (6, "a preference", r"prefer\w*|favou?rites?|(?:hate|love|like|enjoy|dislike)s?|my default"),
    (
        3,
        "a passing state",
        r"today|tonight|right now|at the moment|this (?:morning|afternoon)|tired|hungry|bored|weather",
    ),
    (2, "small talk", r"hello|hi there|thanks|thank you|good (?:morning|evening|night)|bye"),
)
_COMPILED = tuple(
    (rating, why, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for rating, why, words in _RULES
)


def importance_of(text: str) -> Importance:
    """The rating of a text, 1 (trivial) to 10 (vital), with the first rule that fits."""
    for rating, why, pattern in _COMPILED:
        if match := pattern.search(text):
            return Importance(rating, f"{why}: “{match[0]}”")
    return UNKNOWN
