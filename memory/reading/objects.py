"""The object of a statement: which of its words are it, and what it may be by `statements.toml`."""

from __future__ import annotations

import re
from functools import cache

from memory.reading import filled, rules_of
from memory.reading.intervals import validity_of
from memory.reading.rules import words

_ANY_TIME = 951_782_400.0  # of a leap year: only where a date stands is asked for
_FEW_WORDS = 5


def object_of(text: str, *, keep_date: bool) -> tuple[str, str, bool]:
    """The object of a statement, what it replaces, and whether it is denied."""
    but_that = _of("but_that").match(text)
    text = _of("so_long").sub("", _of("cut").sub("", text))
    replaces, denied = "", text.startswith("not ")
    if match := but_that or names_wrong(text):
        text, replaces, denied = match["object"], normal_object(match["replaces"]), False
    text = text.removeprefix("not ")
    when = validity_of(text, said_at=_ANY_TIME)
    if when.start is not None and text[: when.start].strip():
        led = _of("since").search(text, 0, when.start) or _of("since").match(text, when.start)
        text = undated(text) if led or not keep_date else text
    return normal_object(text), replaces, denied


def undated(text: str) -> str:
    """Without since when, until when or for how long."""
    text = _of("so_long").sub("", text)
    when = validity_of(text, said_at=_ANY_TIME)
    if when.start is None or when.end is None:
        return text
    return _of("dangling").sub("", text[: when.start].rstrip()) + text[when.end :]


def names_wrong(text: str) -> re.Match[str] | None:
    """Where a text says what is not, too: "Y, not X", "nr 6 not 4"."""
    return _of("not_this").match(text) or _of("value_not").match(text)


def normal_object(text: str) -> str:
    """An object's words without marks, and without what only rounds a sentence off."""
    text = " ".join(text.replace("`", "").replace("*", "").split()).strip(" .,;:!\"“”'")
    while match := _of("trailing").search(text):
        text = text[: match.start()]
    return text


def is_vague(thing: str) -> bool:
    """Whether words name nothing: "it", "the second one"."""
    return _of("vague").match(thing) is not None


def fits(thing: str, of: str = "") -> bool:
    """Whether an object can be what its rule says that it is; what says more than one thing is nothing."""
    if _of("many").search(thing) or len(thing.split()) > (_FEW_WORDS if of else 2 * _FEW_WORDS):
        return False
    never, must = (rules_of("statements")["objects"][kind].get(of) for kind in ("never", "must"))
    no = never is not None and _compiled(never).match(thing)
    return not no and (must is None or _compiled(must).fullmatch(thing) is not None)


def with_other(thing: str, old: str, text: str) -> str:
    """A text with one thing in the place of another; "" where that is not in it."""
    found = re.search(rf"(?<!\w){re.escape(old)}(?!\w)", text, re.IGNORECASE) if old else None
    return f"{text[: found.start()]}{thing}{text[found.end() :]}" if found else ""


def _of(name: str) -> re.Pattern[str]:
    return _compiled(rules_of("statements")["objects"][name])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(filled(pattern, words()), re.IGNORECASE | re.DOTALL)


# -- which two are one thing -----------------------------------------------------------------------------


def stems(text: str) -> list[str]:
    """What a text says, by the stems of its words in order: "smoking" and "I smoke" are both "smok"."""
    little = rules_of("statements")["objects"]["little"]
    found = (word for word in re.findall(r"\w+", text.casefold()) if word not in little)
    ended = (re.sub(r"(?<=\w{3})(?:ing|ed|es|s|e)$", "", word) for word in found)
    return [re.sub(r"(\w)\1$", r"\1", word) for word in ended]


def words_of_thing(thing: str) -> frozenset[str]:
    """What tells a thing: the stems of its words, and of what it is one of: a car."""
    told, kinds = set(stems(thing)), rules_of("statements")["kinds"].items()
    is_one = (kind for kind, members in kinds if told & set(stems(" ".join(members))))
    return frozenset(told.union(*map(stems, is_one)))
