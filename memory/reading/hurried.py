"""Messages as they are typed in a hurry: "wat do u know abt me", "forgt what i said", "pls remeber that …".

Only words that requests to the memory and corrections are made of are mended, so that a rule can read them.
Every place in the mended text leads back to the one in the message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory.reading.rules import statement_data

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(frozen=True, slots=True)
class Mended:
    """A text with its misspelt words mended, and where each character of it stood."""

    text: str
    _places: Sequence[int]  # a mended word's characters all stood at its beginning

    def place(self, position: int) -> int:
        """Where a position was; in the middle of a mended word, its beginning."""
        return self._places[position]


def mended(text: str) -> Mended:
    """The text as it would be spelt with more time."""
    words: list[str] = []
    places: list[int] = []
    last = 0
    for match in _WORD.finditer(text):
        right = _right(match[0].casefold())
        if right != match[0].casefold():
            words += [text[last : match.start()], right]
            places += [*range(last, match.start()), *([match.start()] * len(right))]
            last = match.end()
    return Mended("".join([*words, text[last:]]), [*places, *range(last, len(text) + 1)])


@lru_cache(maxsize=1)
def _short() -> Mapping[str, str]:
    return {
        wrong: right for right, wrongs in statement_data()["hurried"]["short"].items() for wrong in wrongs
    }


@lru_cache(maxsize=1024)
def _right(word: str) -> str:
    if word in _short():
        return _short()[word]
    data = statement_data()["hurried"]
    if len(word) < len("about") or word in data["others"]:
        return word
    return next((right for right in data["long"] if word != right and _is_slip(word, right)), word)


def _is_slip(word: str, right: str) -> bool:
    """Whether one letter is missing, too many or wrong, or two neighbours changed places."""
    if abs(len(word) - len(right)) > 1 or word in statement_data()["hurried"]["long"]:
        return False
    start = next((n for n, pair in enumerate(zip(word, right, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        return True
    rest, wanted = word[start:], right[start:]
    swapped = rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:]
    return swapped or rest[1:] == wanted[1:] or rest[1:] == wanted or rest == wanted[1:]
