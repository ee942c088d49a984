"""The object of a statement: cut out of what a clause says, without dates, asides and filler."""

from __future__ import annotations

import re
from datetime import tzinfo

from memory.extracting.intervals import validity_of

_CUT = re.compile(
    r"\s+(?:if|because|although|though|so|which|whenever|unless|while|as long as|and then|when|but|due to)"
    r"\b.*$"
    r"|\s+and (?:want|need|would|i|it|then|they|get|can|could|am|was|is|must|have to)\b.*$"
    r"|\s+\(.*$",
    re.DOTALL,
)
_ASIDE = re.compile(r"\s*\((not [^()]+)\)")
_TRAILING = re.compile(
    r"[\s,]+(?:a lot|very much|so much|too|now|these days|please|at the moment|currently|again|as well"
    r"|by the way|btw|actually|though|instead|right now|already|best|the most|most of all|any ?more"
    r"|any longer|ok|okay)$"
)
_NOT_THIS = re.compile(
    r"^(?P<object>.+?)(?:,| and) (?:and )?not (?!only|that|to |so |really|yet|sure)(?P<replaces>.+)$"
)
_NUMBER_NOT = re.compile(r"^(?P<object>(?:.+ )?\S*\d\S*) not (?P<replaces>(?:\w+ )?\S*\d\S*)$")
_BUT_THAT = re.compile(r"^not (?P<replaces>.+?)(?:,| but|, but|;)+ (?:it['’]s |it is )?(?P<object>.+)$")
_DANGLING = re.compile(r"[\s,]+(?:as of|on|in|at|since|until|from|for|by|the|a|of|to|and|with)$")
VAGUE = re.compile(
    r"(?:it|this|that|them|these|those|him|her|you|us|one|something|anything|nothing|everything|stuff|things"
    r"|there|here|how|what|why|when|where|who|to (?:know|ask|see|understand|find|hear|be able)"
    r"|the (?:answer|way|idea|first|second|third|last|other|former|latter|next|same|new|old)(?: \w+)?$"
    r"|the (?:answer|way|idea)\b)(?:\b|$)",
    re.IGNORECASE,
)
_SINCE = re.compile(r"\b(?:since|as of|starting)\b(?: on| from)?\s*", re.IGNORECASE)
_COUNT = (
    r"(?:about |almost |nearly |over |more than )?(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve|a few|a couple of|several|many)"
)
_SO_LONG = re.compile(
    rf"\s+(?:for {_COUNT} (?:days?|weeks?|months?|years?|decades?)(?: now| already)?"
    r"|since (?:I|we|he|she|they) (?:was|were|am|are|left|got|became|began|started)\b.*"
    r"|for (?:a long time|a while|ages|years|as long as .+)|all my life|my whole life|as a child)$"
)


def undated(text: str, *, said_at: float, zone: tzinfo) -> str:
    """Without since when, until when or for how long."""
    text = _SO_LONG.sub("", text)
    when = validity_of(text, said_at=said_at, zone=zone)
    return text if when.start is None or when.end is None else _without(text, when.start, when.end)


def _without(text: str, start: int, end: int) -> str:
    """Without a date, and without the words that led to it."""
    head = text[:start].rstrip()
    while (cut := _DANGLING.sub("", head)) != head:
        head = cut
    return head + text[end:]


def object_of(text: str, *, keep_date: bool, said_at: float, zone: tzinfo) -> tuple[str, str, bool]:
    """The object of a statement, what it replaces, and whether it is denied."""
    text = _SO_LONG.sub("", _CUT.sub("", _ASIDE.sub(r", \1", text)))
    replaces = ""
    denied = False
    if match := _BUT_THAT.match(text) or names_wrong(text):
        text, replaces = match["object"], normal_object(match["replaces"])
    elif text.startswith("not "):
        text, denied = text[4:], True
    when = validity_of(text, said_at=said_at, zone=zone)
    if when.start is not None and when.end is not None and text[: when.start].strip():
        led = _SINCE.search(text, 0, when.start) or _SINCE.match(text, when.start)
        if led or not keep_date:
            text = _without(text, when.start, when.end)
    return normal_object(text), replaces, denied


def names_wrong(text: str) -> re.Match[str] | None:
    """Where a text says what is not, too: "Y, not X", "nr 6 not 4"."""
    return _NOT_THIS.match(text) or _NUMBER_NOT.match(text)


def normal_object(text: str) -> str:
    """An object's words without marks, and without what only rounds a sentence off."""
    text = " ".join(text.replace("`", "").replace("*", "").split()).strip(" .,;:!\"“”'")
    while match := _TRAILING.search(text):
        text = text[: match.start()]
    return text
