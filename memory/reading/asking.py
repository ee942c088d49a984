"""Whether a message asks, and whether it asks about the user: told by its first words and its pronouns."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from memory.reading import as_typed, rules_of
from memory.reading.clauses import spelt_out, with_subject
from memory.reading.entities import is_given_name
from memory.reading.relations import relations_in
from pipeline.analysis import analyse
from pipeline.asking.questions import is_question
from pipeline.terms import stop_terms

_WORD = re.compile(r"[^\W\d_]+")
_NAMED = re.compile(r"(?<=[\w,;] )[A-Z][a-zà-ÿ]+")  # within a sentence
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
FEW_WORDS = 4  # of a message that names what it looks for: "bunk number"


def asks(message: str) -> bool:
    """Whether a message asks something: it is no question only where it states something."""
    text = message.strip()
    if "?" in text or _of("question").match(text) or _of("asks_after").search(text):
        return True
    return only_names(text)


def only_names(text: str, *, most: int = FEW_WORDS) -> bool:
    """Whether a text is a few words that name what is looked for: "bunk number", "C-112"."""
    names = any(term not in stop_terms() for term in analyse(text))
    told = _of("states").match(text) or _of("tells").search(text) or "," in text
    tells = told or relations_in(text) or corrects(text)
    return names and len(text.split()) <= most and not tells


def only_keywords(text: str) -> bool:
    """Whether a text is keywords, and tells of nobody, no number and no day: "diff between A and B"."""
    of_somebody = _of("about_me").search(text) or any(map(is_given_name, _WORD.findall(text)))
    return only_names(text, most=SHORT) and not (of_somebody or _of("number_or_day").search(text))


def only_asks(message: str) -> bool:
    """Whether a message tells nothing beside what it asks."""
    return all(map(_only_asks, filter(None, map(str.strip, _SENTENCE.split(message)))))


def _only_asks(sentence: str) -> bool:
    if is_question(sentence) or _of("question").match(sentence):
        return True
    after = _of("asks_after").search(sentence)
    return after is not None and not states(sentence[: after.start()])


def asked_part(message: str) -> str:
    """The sentences of a message that ask, where others stand beside them; else all of it."""
    asked = [sentence for sentence in _SENTENCE.split(message) if sentence.rstrip().endswith("?")]
    return " ".join(asked) or message


def states(message: str) -> bool:
    """Whether a message tells something of the one who writes, or of somebody by name, and asks nothing.

    "The pump is off again" tells something of what documents are about: they are asked for it.
    """
    of_somebody = _of("of_somebody").match(message) or any(map(is_given_name, _WORD.findall(message)))
    told = bool(_of("about_me").search(with_subject(spelt_out(message))) or of_somebody or corrects(message))
    return told and not asks(message)


SHORT = 8  # words of what only corrects, and of keywords


def corrects(text: str) -> bool:
    """Whether a text only puts right what was said before it, in a few words."""
    words = text.split()
    return 1 < len(words) <= SHORT and "?" not in text and _of("corrects").match(text) is not None


def leans(message: str) -> bool:
    """Whether a message is not understood without what was said before: "and what does he do?"."""
    return _of("leans").search(message) is not None


def is_personal(message: str, *, was_said: Callable[[str], bool]) -> bool:
    """Whether a message is about the one who writes, or somebody of whom something `was_said`."""
    if _of("about_me").search(_of("how_to").sub(" ", message)):
        return True
    words = (word for each in _WORD.findall(message) for word in (each, each.removesuffix("s")))
    return any(map(was_said, filter(is_given_name, words)))


def names_what(message: str, *, was_said: Callable[[str], bool]) -> bool:
    """Whether a message has a name, by its capital, that `was_said`."""
    return any(map(was_said, _NAMED.findall(message)))


@cache
def _of(name: str) -> re.Pattern[str]:
    patterns = rules_of("asking")["patterns"]
    return re.compile(as_typed(patterns[name].replace("{lead}", patterns["lead"])), re.IGNORECASE)
