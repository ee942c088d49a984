"""One name for all ways to write it."""

from __future__ import annotations

import re
from functools import lru_cache

_MARKS = re.compile(r"[`*]|(?<!\w)_|_(?!\w)|[\"“”„«»]|<!--.*?-->")
_ARTICLE = re.compile(r"(?:the|an?|my|your|our|their|his|her|its|this|that|these|those) (?=\S)")
_SPACED_CODE = re.compile(r"[A-Z]{1,4} \d{2,4}")
_CODE = re.compile(r"([a-z]{1,4})-?(\d{2,4})")
_CALL = re.compile(r"(?<=\w)\([^()]*\)$")
_POSSESSIVE = re.compile(r"['’]s$")
_NUMERALS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
    )
}


@lru_cache(maxsize=4096)
def normalised(name: str) -> str:
    """The name in small letters without marks and article, its ids and last numeral in one form.

    "C105" and "C 105" become "c-105", "the Fan one" becomes "fan 1", "`parse()`" becomes "parse".
    """
    name = " ".join(_MARKS.sub("", name).split()).strip(" ,;:.!?")
    if _SPACED_CODE.fullmatch(name):
        name = name.replace(" ", "-")
    name = _POSSESSIVE.sub("", _CALL.sub("", name)).casefold().replace("’", "'")
    name = _ARTICLE.sub("", name, count=1) if _ARTICLE.match(name) else name
    if code := _CODE.fullmatch(name):
        return f"{code[1]}-{code[2]}"
    first, _, last = name.rpartition(" ")
    return f"{first} {_NUMERALS.get(last, last)}" if first else name
