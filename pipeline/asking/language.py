"""Which language a text is in: by its script, and by the small words that each language has of its own.

It rather says nothing than something wrong: a few keywords, names and codes are of no language.

Of everyday English it knows the words that the bundled model's tokenizer knows whole, the commoner first: a
question's word that is among them is spelt as somebody meant it, whether or not the documents have it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from pipeline.words import table

LONGEST = 4_000  # characters that are looked at
LEAST_SHARE = 0.2
"""Of the words that must be small words of a language: in running text it is a third to a half, in questions
full of terms it is less."""

_SCRIPTS = (
    ("Ukrainian", r"[іїєґІЇЄҐ]"),  # before Russian, whose script has none of these
    ("Russian", r"[\u0400-\u04ff]"),
    ("Greek", r"[\u0370-\u03ff\u1f00-\u1fff]"),
    ("Hebrew", r"[\u0590-\u05ff]"),
    ("Arabic", r"[\u0600-\u06ff]"),
    ("Hindi", r"[\u0900-\u097f]"),
    ("Thai", r"[\u0e00-\u0e7f]"),
    ("Japanese", r"[\u3040-\u30ff]"),  # before Chinese, whose characters it has, too
    ("Korean", r"[\uac00-\ud7af\u1100-\u11ff]"),
    ("Chinese", r"[\u4e00-\u9fff]"),
)
_WORD = re.compile(r"[^\W\d_]+(?:'t|'s|'re|'m|')?")  # "it's" is one word, "l'alarme" are two: l' and alarme
_CODE = re.compile(r"```.*?(```|$)|`[^`\n]*`", re.DOTALL)


def language_of(text: str) -> str | None:
    """The English name of the language of a text; None where it has too little to tell by."""
    text = _CODE.sub(" ", text[:LONGEST])
    return _by_script(text) or _by_words(_WORD.findall(text.lower().replace("’", "'")))


def _by_script(text: str) -> str | None:
    """The language of the script that most letters are of, unless that is the Latin one."""
    letters = sum(map(str.isalpha, text))
    for language, script in _SCRIPTS:
        own = len(re.findall(script, text))
        whole = own if language not in ("Ukrainian", "Japanese") else _beside(text, language, own)
        if whole * 2 > letters > 1:
            return language
    return None


def _beside(text: str, language: str, own: int) -> int:
    """The letters of the script that a language shares, where it has letters of its own among them."""
    shared = r"[\u0400-\u04ff]" if language == "Ukrainian" else r"[\u3040-\u30ff\u4e00-\u9fff]"
    return len(re.findall(shared, text)) if own else 0


def _by_words(words: list[str]) -> str | None:
    """The one language whose small words are two or more of the words, one of them no English word.

    A word with an accent stands for one of them.
    """
    counts = {language: _hits(words, small) for language, small in _profiles().items()}
    best, second = sorted(counts, key=lambda language: -counts[language])[:2]
    hits = {word for word in words if word in _profiles()[best]}
    accented = {word for word in words if not word.isascii()}
    if len(hits | accented) < 2 or counts[best] < LEAST_SHARE * len(words) or counts[best] == counts[second]:
        return None
    if best == "English":
        return best
    own = hits - _profiles()["English"] - _english_too()
    foreign = own or (len(hits) > 2 and not counts["English"])  # "la", "de" and "si" together are enough
    return best if foreign and counts[best] >= 2 * counts["English"] else None


def _hits(words: list[str], small: frozenset[str]) -> int:
    return sum(word in small for word in words)


@lru_cache(maxsize=1)
def _profiles() -> Mapping[str, frozenset[str]]:
    *languages, _ = table(__file__, "languages.tsv")
    return {language: frozenset(words.split()) for language, words in languages}


@lru_cache(maxsize=1)
def _english_too() -> frozenset[str]:
    """Small words that are English words, abbreviations or parts of names, too: alone they prove nothing."""
    *_, (_, words) = table(__file__, "languages.tsv")
    return frozenset(words.split())


_TOKENIZER = "bundled/all-MiniLM-L6-v2/tokenizer.json"


def rank(word: str) -> int | None:
    """How common an English word in lower case is, 0 for the commonest; None for one that is not known."""
    return english_words().get(word)


@lru_cache(maxsize=1)
def english_words() -> Mapping[str, int]:
    """Some 21,000 words with their rank: read once, in some 20 ms, and only where a word needs it.

    BERT's vocabulary begins with marks and single letters and goes on by frequency, so the place in it ranks.
    """
    text = (files("pipeline.models") / _TOKENIZER).read_text(encoding="utf-8")
    pieces: Mapping[str, int] = json.loads(text)["model"]["vocab"]
    return {piece: place for piece, place in pieces.items() if piece.isascii() and piece.isalpha()}
