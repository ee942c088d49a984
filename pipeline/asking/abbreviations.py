"""Abbreviations that the documents explain: "LOX: liquid oxygen", "control system (ECS)".

Where a question has the long form, or of it the last word beside a word that the documents have beside the
abbreviation ("oxygen tank" where they write "LOX tank"), it is searched for with both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.analysis import analyse
from pipeline.stores.base import SearchRequest, SentenceIndex
from pipeline.terms import stop_terms

READ = 20  # sentences that are read for a word's abbreviation
MOST_PAIRS = 4  # words of a question that are looked at
SHORTEST = 4  # letters of such a word
LONGEST_FORM = 4  # words of what is abbreviated

# Each part has a limit, so that reading takes time in proportion to the text.
_NAME = r"[*_`]{0,3}(?P<name>[A-Z][A-Za-z]{0,7}[A-Z0-9]{1,4})[*_`]{0,3}"
_WORDS = r"(?<![A-Za-z-])(?P<words>[A-Za-z-]+(?: [A-Za-z-]+){0,8})(?![A-Za-z-])"
_DEFINITIONS = tuple(
    map(
        re.compile,
        (
            rf"\A\W{{0,8}}{_NAME}\s*(?:[:|]|means|stands for)\s*{_WORDS}",
            rf"{_WORDS},? (?:in short |\(){_NAME}",
            rf"{_WORDS}, {_NAME},",
        ),
    )
)
_PAIR = re.compile(r"(?<![\w-])(?=([a-z]+) ([a-z]+)(?![\w-]))", re.IGNORECASE)


def named_shortly(question: str, index: SentenceIndex) -> Iterator[tuple[int, str, str]]:
    """Words of a question, where they begin, and the words with their abbreviations; raises `StoreError`."""
    pairs = [pair for pair in _PAIR.finditer(question) if len(pair[1]) >= SHORTEST and _says(pair)]
    for pair in pairs[:MOST_PAIRS]:
        word, following = pair[1], pair[2]
        for name in sorted(_names(word, index) - set(question.split())):
            if _is_usual(name, word, following, index):
                yield pair.start(1), word, f"{word} ({name})"
                break


def _says(pair: re.Match[str]) -> bool:
    return not stop_terms().intersection(analyse(f"{pair[1]} {pair[2]}"))


def _names(word: str, index: SentenceIndex) -> set[str]:
    """The abbreviations of what ends with the word."""
    return {
        found["name"]
        for text in _texts(word, index)
        for found in definitions_in(text)
        if _abbreviates(found["name"], found["words"], word)
    }


def definitions_in(text: str) -> list[re.Match[str]]:
    """Where a text explains a `name` by `words`."""
    return [found for pattern in _DEFINITIONS for found in pattern.finditer(text)]


def _abbreviates(name: str, words: str, last: str) -> bool:
    """Whether the name's letters are those of the words, in order, that end with this one."""
    parts = words.lower().split()
    if last.lower() not in parts:
        return False
    form = parts[: parts.index(last.lower()) + 1][-LONGEST_FORM:]
    letters = re.sub(r"[^a-z]", "", name.lower())
    for begin in range(len(form) - 1):
        if form[begin].startswith(letters[:1]):
            rest = iter("".join(form[begin:]))
            if len(letters) > 1 and all(letter in rest for letter in letters):
                return True
    return False


def _is_usual(name: str, word: str, following: str, index: SentenceIndex) -> bool:
    """Whether the documents have the abbreviation before the next word, oftener than the word itself."""
    text = "\n".join(_texts(f"{name} {word} {following}", index))
    short, long = (
        len(re.findall(rf"\b{re.escape(one)}\s+{re.escape(following)}", text, re.IGNORECASE))
        for one in (name, word)
    )
    return short > long


def _texts(words: str, index: SentenceIndex) -> list[str]:
    hits = index.search(SearchRequest(words, None, READ)).bm25_sentences[:READ]
    return [node.text for node in index.get_many([hit.node_id for hit in hits]).values()]
