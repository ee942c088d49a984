"""Pattern tests on a message: is it a question, a correction of the message before, or about the user?

English only. A message in another language rarely matches; it is then searched and shown like any other.
"""

from __future__ import annotations

import re

MOST_CORRECTION = 8  # words of a message that only corrects the one before

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_LEAD = r"\W*(?:(?:hey|hi|hello|ok|okay|so|and|but|btw|well|please|pls|sorry|again)\b[,.!]*\s+)*"
_QUESTION = re.compile(
    rf"{_LEAD}(?:wh?at|which|who|whom|whose|when|wh?ere|why|how|do|does|did|is|are|am|was|were|has|have|had|can"
    r"|could|should|shall|will|would|may|must|tell|show|list|remind(?! me (?:i|that|to)\b)|repeat|explain"
    r"|describe|find|compare|(?:what|where|who|when|how)['’]?s)\b",
    re.IGNORECASE,
)
_ABOUT_ME = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours|i['’](?:m|ve|d|ll)|im|ive)\b", re.IGNORECASE)
_HOW_TO = re.compile(
    r"\bhow (?:(?:long|often|much|many) )?(?:do|can|could|should|would|must|to|have|am)(?: (?:i|we))?\b"
    r"|\b(?:(?:can|could|should|may|must|shall) (?:i|we)|what do i do|(?:tell|show|give|help) (?:me|us))\b",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\W*(?:sorry|oops|no|nope|actually|correction|wait|i mea?nt?|make (?:it|that))\b"
    r"|.*\bnot \w+\W*(?:sorry)?\W*$|.*\b(?:sorry|i mea?nt)\W*$",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"\b(i|we|you)(?: \w+)? (?:ask|sa(?:y|id)|t(?:ell|old)|mention|answer|suggest|recommend|advise|explain)"
    r"|\b(your) (?:\w+ )?(?:answer|advice|suggestion|recommendation)",
    re.IGNORECASE,
)


def asks(message: str) -> bool:
    """Tell whether a message is a question, or asks for information ("show …")."""
    return "?" in message or _QUESTION.match(message) is not None


def only_asks(message: str) -> bool:
    """Tell whether a message ends with a question, and states nothing about the user before it."""
    *before, last = filter(None, map(str.strip, _SENTENCE.split(message.strip() or "?")))
    return asks(last) and all(asks(one) or not is_personal(one) for one in before)


def is_personal(message: str) -> bool:
    """Tell whether a message is about the user: it says "I" or "my", but not in "how do I …"."""
    return _ABOUT_ME.search(_HOW_TO.sub(" ", message)) is not None


def corrects(message: str) -> bool:
    """Tell whether a message only corrects the one before it, in a few words: "sorry, 35"."""
    words = message.split()
    return 1 < len(words) <= MOST_CORRECTION and "?" not in message and _CORRECTS.match(message) is not None


def is_of_questions(question: str) -> bool:
    """Tell whether a question is about earlier questions: "which hose did I ask you about?"."""
    return any(match[0].lower().endswith("ask") for match in _TALK.finditer(question))


def is_of_answers(question: str) -> bool:
    """Tell whether a question is about the assistant's earlier answers: "what did you recommend?"."""
    return any((match[1] or match[2]).lower().startswith("you") for match in _TALK.finditer(question))
