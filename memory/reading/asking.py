"""Whether a message asks, and whether it asks about the user: told by its first words and its pronouns."""

from __future__ import annotations

import re
from collections.abc import Callable

from memory.reading import as_typed
from memory.reading.entities import is_given_name
from memory.reading.relations import relations_in
from memory.reading.stance import spelt_out
from pipeline.analysis import analyse
from pipeline.asking.several import is_question
from pipeline.terms import stop_terms

_LEAD = r"(?:(?:hey|hi|hello|ok|okay|so|and|but|btw|well|athena|please|pls|sorry|again)\b[,.!]*\s+)*"
_QUESTION = re.compile(
    as_typed(
        _LEAD
        + r"(?:what|which|who|whom|whose|when|where|why|how|do|does|did|is|are|am|was|were|has|have|had|can"
        r"|could|should|shall|will|would|may|must|tell|show|list|give|remind|repeat|name|explain|describe|find"
        r"|compare|search|look|help|any|(?:what|where|who|when|how)['’]?s)\b"
    ),
    re.IGNORECASE,
)
_ASKS_AFTER = re.compile(
    r"\b(?:how(?: \w+){0,3}?|what|why|where|when)"
    r" (?:do|did|have|can|could|should|must|will|would|shall|may|am|are) (?:i|we)\b",
    re.IGNORECASE,
)
"""A question about oneself, after what leads to it: in a hurry nothing parts the two."""
_STATES = re.compile(
    _LEAD
    + r"(?:(?:i|we|my|our|it|that|this|he|she|they|his|her|their|there|the|no|not|actually|remember|note)\b"
    r"|(?:i|we|it|that|he|she|they|there)['’](?:m|s|re|ve|ll|d)\b|(?:im|ive|its|hes|shes|theyre|were)\b)",
    re.IGNORECASE,
)
_ABOUT_ME = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|i['’](?:m|ve|d|ll)|im|ive|id)\b", re.IGNORECASE
)
_OF_SOMEBODY = re.compile(_LEAD + r"(?:he|she|they|his|her|their|hes|shes|theyre)\b", re.IGNORECASE)
_LEANS = re.compile(
    r"\b(?:he|she|it|they|him|her|his|its|their|them|that|this|those|these|there|one|ones)\b"
    r"|^\W*(?:and|but|or|what about|how about|why|since when|where|when|who)\b(?:\W+\w+){0,2}\W*$|^\W*and\b",
    re.IGNORECASE,
)
"""Of a message that is not understood without what was said before."""
_TELLS = re.compile(
    r"\b(?:is|are|was|were|has|had|got|went|left|quit|sold|paid|gave|told|said|bought|found|lost|came|took|made|put"
    r"|met|broke|began|kept|sent|won|lives?|works?|\w{3,}ed)\b|['’]s\b",
    re.IGNORECASE,
)
_BY_TASTE = (
    "bake|bring|buy|celebrate|cook|do next|drink|eat|get (?:him|her|them|my)|give (?:him|her|them|my)|go"
    "|have for|listen|make for|order|play|read|study|try|visit|watch|wear"
)
"""What one chooses by what one likes: advice on it is about the one who asks."""
_HOW_TO = re.compile(
    r"\bhow (?:long |often |much |many )?(?:do|can|could|should|would|must|to|have|am)(?: (?:i|we))?\b"
    r"|\b(?:can|could|should|may|must|shall) (?:i|we)\b(?! (?:"
    + _BY_TASTE
    + r")\b)|\b(?:tell|show|give|teach|help) (?:me|us)\b",
    re.IGNORECASE,
)
"""Of a question for a procedure: it is nobody's in particular."""
_WORD = re.compile(r"[^\W\d_]+")
_NAMED = re.compile(r"(?<=[\w,;] )[A-Z][a-zà-ÿ]+")  # within a sentence
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
FEW_WORDS = 4  # of a message that names what it looks for: "bunk number"


def asks(message: str) -> bool:
    """Whether a message asks something: it is no question only where it states something."""
    text = message.strip()
    if "?" in text or _QUESTION.match(text) or _ASKS_AFTER.search(text):
        return True
    return only_names(text)


def only_names(text: str, *, most: int = FEW_WORDS) -> bool:
    """Whether a text is a few words that name what is looked for: "bunk number", "C-112"."""
    names = any(term not in stop_terms() for term in analyse(text))
    tells = _STATES.match(text) or _tells(text) or corrects(text)
    return names and len(text.split()) <= most and not tells


def only_keywords(text: str) -> bool:
    """Whether a text is keywords, and tells of nobody, no number and no day: "diff between A and B"."""
    of_somebody = _ABOUT_ME.search(text) or any(map(is_given_name, _WORD.findall(text)))
    return only_names(text, most=SHORT) and not (of_somebody or _NUMBER_OR_DAY.search(text))


def only_asks(message: str) -> bool:
    """Whether a message tells nothing beside what it asks."""
    return all(map(_only_asks, filter(None, map(str.strip, _SENTENCE.split(message)))))


def _only_asks(sentence: str) -> bool:
    if is_question(sentence) or _QUESTION.match(sentence):
        return True
    after = _ASKS_AFTER.search(sentence)
    return after is not None and not states(sentence[: after.start()])


def asked_part(message: str) -> str:
    """The sentences of a message that ask, where others stand beside them; else all of it."""
    asked = [sentence for sentence in _SENTENCE.split(message) if sentence.rstrip().endswith("?")]
    return " ".join(asked) or message


def states(message: str) -> bool:
    """Whether a message tells something of the one who writes, or of somebody by name, and asks nothing.

    "The pump is off again" tells something of what documents are about: they are asked for it.
    """
    of_somebody = _OF_SOMEBODY.match(message) or any(map(is_given_name, _WORD.findall(message)))
    told = bool(_ABOUT_ME.search(spelt_out(message)) or of_somebody or corrects(message))
    return told and not asks(message)


_CORRECTS = re.compile(
    r"\W*(?:so+r+y|sr+y|oops|no|nope|actually|correction|wait|i mea?nt?|make (?:it|that))\b"
    r"|.*\bnot \w+\W*(?:so+r+y|sr+y)?\W*$|.*\b(?:so+r+y|sr+y|i mea?nt)\W*$",
    re.IGNORECASE,
)
SHORT = 8  # words of what only corrects, and of keywords
_NUMBER_OR_DAY = re.compile(
    r"(?<![\w-])\d|\b(?:yesterday|today|tonight|tomorrow|next|last|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)


def corrects(text: str) -> bool:
    """Whether a text only puts right what was said before it, in a few words."""
    words = text.split()
    return 1 < len(words) <= SHORT and "?" not in text and _CORRECTS.match(text) is not None


def leans(message: str) -> bool:
    """Whether a message is not understood without what was said before: "and what does he do?"."""
    return _LEANS.search(message) is not None


def _tells(text: str) -> bool:
    return bool(_TELLS.search(text) or relations_in(text))


def is_personal(message: str, *, was_said: Callable[[str], bool]) -> bool:
    """Whether a message is about the one who writes, or somebody of whom something `was_said`."""
    if _ABOUT_ME.search(_HOW_TO.sub(" ", message)):
        return True
    return any(map(was_said, filter(is_given_name, _WORD.findall(message))))


def names_what(message: str, *, was_said: Callable[[str], bool]) -> bool:
    """Whether a message has a name, by its capital, that `was_said`."""
    return any(map(was_said, _NAMED.findall(message)))
