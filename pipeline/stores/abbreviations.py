"""Abbreviations that documents explain ("LOX: liquid oxygen", "system (ECS)"), and where they are usual."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

Abbreviations = Mapping[tuple[str, str], str]
"""By a word and the one after it, in lower case: what the documents rather have in the place of the first."""

LONGEST_FORM = 4  # words of what is abbreviated
MOST_BEFORE = 80  # characters in which it stands before the abbreviation

# Each part has a limit, so that reading takes time in proportion to the text.
_NAME = r"[*_`]{0,3}\b([A-Z][A-Za-z]{0,7}[A-Z0-9]{1,4})\b[*_`]{0,3}"
_WORDS = r"[A-Za-z-]{1,40}(?: [A-Za-z-]{1,40}){0,8}"
_BEFORE_FORM = re.compile(
    rf"^[^\w\n]{{0,8}}{_NAME}\s{{0,8}}(?:[:|]|means|stands for)\s{{0,8}}({_WORDS})", re.M
)
_AFTER_FORM = [re.compile(pattern) for pattern in (rf"\({_NAME}", rf"in short {_NAME}", rf", {_NAME},")]
_FORM = re.compile(rf"(?<![A-Za-z-])({_WORDS})[, ]{{0,2}}\Z")
_MARKS = "*_`([\"'.,;:!?)]"


def usual_abbreviations(texts: Sequence[str]) -> Abbreviations:
    """Which abbreviations the texts have before which words, oftener than the last word of their long form.

    They write "LOX tank" and no "oxygen tank": ("oxygen", "tank") is "LOX". A second for 14 MB.
    """
    named = sorted({pair for text in texts for pair in _explained(text)})
    following: dict[str, Counter[str]] = {one: Counter() for pair in named for one in pair}
    for text in texts if named else ():
        for written, after in pairwise(text.split()):
            word = written if written in following else written.lower()
            if word in following:
                following[word][after.lower().strip(_MARKS)] += 1
    usual: dict[tuple[str, str], str] = {}
    for name, word in named:
        for after, count in following[name].items():
            if count > following[word][after]:
                usual.setdefault((word, after), name)
    return usual


def _explained(text: str) -> Iterator[tuple[str, str]]:
    """Abbreviations, each with the words that its long form may end with."""
    for found in _BEFORE_FORM.finditer(text):
        yield from _last_words(found[1], found[2])
    for pattern in _AFTER_FORM:
        for found in pattern.finditer(text):
            form = _FORM.search(text, max(0, found.start() - MOST_BEFORE), found.start())
            if form:
                yield from _last_words(found[1], form[1])


def _last_words(name: str, words: str) -> Iterator[tuple[str, str]]:
    """The name with each word that some words end with whose letters are its own, in order."""
    parts, letters = words.lower().split(), re.sub(r"[^a-z]", "", name.lower())
    for last in range(1, len(parts)):
        for begin in range(max(0, last + 1 - LONGEST_FORM), last):
            rest = iter("".join(parts[begin : last + 1]))
            short = len(letters) > 1 and letters not in parts[begin]  # "OPEN" is not "open valve"
            if short and parts[begin][0] == letters[0] and all(one in rest for one in letters):
                yield name, parts[last]
                break
