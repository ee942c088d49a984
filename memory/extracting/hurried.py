"""Messages as they are typed in a hurry: "wat do u know abt me", "forgt what i said", "pls remeber that …".

Only words that requests to the memory and corrections are made of are mended, so that a rule can read them.
Every place in the mended text leads back to the one in the message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_SHORT = {
    "u": "you", "yu": "you", "yuo": "you", "ur": "your", "ure": "you are",
    "wat": "what", "waht": "what", "wht": "what", "whta": "what", "wot": "what",
    "whats": "what's", "wats": "what's",
    "kno": "know", "knwo": "know", "konw": "know", "nkow": "know", "knw": "know",
    "abt": "about", "bout": "about", "abut": "about",
    "pls": "please", "plz": "please", "plss": "please",
    "teh": "the", "hte": "the", "taht": "that", "tht": "that", "thta": "that",
    "dont": "don't", "dnt": "don't", "im": "i'm", "ive": "i've", "whos": "who's",
    "hav": "have", "hvae": "have", "sed": "said", "siad": "said", "tel": "tell", "dose": "does",
    "nam": "name", "nmae": "name", "naem": "name", "evrything": "everything", "everythin": "everything",
    "sory": "sorry", "sry": "sorry", "srry": "sorry", "sorrry": "sorry", "soz": "sorry", "ment": "meant",
    "wich": "which", "whcih": "which", "whihc": "which", "wher": "where", "wheres": "where's", "wen": "when",
    "memorys": "memories", "ddi": "did", "rember": "remember", "remebr": "remember", "rembmer": "remember",
}  # fmt: skip
_LONG = (
    "remember",
    "forget",
    "about",
    "everything",
    "mention",
    "mentioned",
    "memories",
    "memory",
    "please",
    "actually",
    "correction",
)
"""A word that differs from one of these in one letter, or in two that changed places, is that one."""

_OTHERS = frozenset(
    {
        *("forgot", "forgets", "forge", "forged", "forges", "forger", "abort", "remembers", "remembered"),
        *("member", "renumber", "mentions", "pleased", "pleases", "pleas", "plead", "lease"),
        *("factually", "tactually", "corrections"),
    }
)
"""Words of their own, however near."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(frozen=True, slots=True)
class Mended:
    """A text with its misspelt words mended, and where each piece of it stood."""

    text: str
    _starts: Sequence[int]  # of the pieces in `text`
    _places: Sequence[int]  # of the same pieces in the text that was mended

    def place(self, position: int) -> int:
        """Where a position was; in the middle of a mended word, its beginning."""
        piece = bisect_right(self._starts, position) - 1
        along = position - self._starts[piece]
        return self._places[piece] + (0 if self._is_mended(piece) else along)

    def _is_mended(self, piece: int) -> bool:
        return piece % 2 == 1


def mended(text: str) -> Mended:
    """The text as it would be spelt with more time."""
    pieces, starts, places = [], [], []
    last, length = 0, 0
    for match in _WORD.finditer(text):
        right = _right(match[0].casefold())
        if right == match[0].casefold():
            continue
        for piece, place in ((text[last : match.start()], last), (right, match.start())):
            pieces.append(piece)
            starts.append(length)
            places.append(place)
            length += len(piece)
        last = match.end()
    return Mended("".join([*pieces, text[last:]]), [*starts, length], [*places, last])


@lru_cache(maxsize=1024)
def _right(word: str) -> str:
    if word in _SHORT:
        return _SHORT[word]
    if len(word) < len("about") or word in _OTHERS:
        return word
    return next((right for right in _LONG if word != right and _is_slip(word, right)), word)


def _is_slip(word: str, right: str) -> bool:
    """Whether one letter is missing, too many or wrong, or two neighbours changed places."""
    if abs(len(word) - len(right)) > 1 or word in _LONG:
        return False
    start = next((n for n, pair in enumerate(zip(word, right, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        return True
    rest, wanted = word[start:], right[start:]
    swapped = rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:]
    return swapped or rest[1:] == wanted[1:] or rest[1:] == wanted or rest == wanted[1:]
