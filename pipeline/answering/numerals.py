"""Numbers in words as digits: "two and a half hours" → 2.5 hours, "a quarter of an hour" → 0.25 hour."""

from __future__ import annotations

import re

SMALL_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen
"""
SMALL = tuple(SMALL_WORDS.split())
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
RATE = re.compile(rf"(\d ?[^\W\d]{{1,12}}(?: of \w+)?) an? ({TIME})\b", re.IGNORECASE)
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
OCLOCK = re.compile(r"\b(\d{1,2}) o['’]clock( at night| in the evening| in the afternoon)?", re.IGNORECASE)


def in_digits(text: str) -> str:
    """The text with its numbers in digits; "one" only where it measures ("one of them" does not)."""
    text = RATE.sub(r"\1 per \2", GREAT_NUMBER.sub(_great, SPELLED.sub(_digits, text)))
    for pattern, written in PHRASES:
        text = pattern.sub(written, text)
    return COUNTED_ONE.sub("one ", OCLOCK.sub(_oclock, text))


def _great(match: re.Match[str]) -> str:
    return f"{round(float(match[1]) * GREAT[match[2].casefold()], 3):.15g}"


def _oclock(match: re.Match[str]) -> str:
    return f"{int(match[1]) + (12 if match[2] and int(match[1]) < 12 else 0)}:00"


def _digits(match: re.Match[str]) -> str:
    tens, ones, alone = match.groups()
    if alone is None:
        return str(VALUES[tens.casefold()] + VALUES[ones.casefold()])
    return str(VALUES[alone.casefold()])
