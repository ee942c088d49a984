"""The message before the search: greetings, its size, and which part of a pasted one is searched for."""

from __future__ import annotations

import re

from pipeline.errors import AthenaError

GREETINGS = frozenset({
    "hi", "hello", "hey", "hi there", "hello there", "good morning", "good afternoon", "good evening",
    "hallo", "guten tag", "bonjour", "hola", "ciao",
})  # fmt: skip
THANKS = frozenset({
    "thanks", "thank you", "thanks a lot", "thank you very much", "many thanks", "thx", "ok thanks",
    "danke", "vielen dank", "merci", "gracias", "grazie",
})  # fmt: skip
LONG = 600  # characters: a longer message was pasted
ASKING = 3  # sentences of a pasted message that end in a question mark
LAST = 2  # sentences at its end
LONGEST_MESSAGE = 20_000  # characters
TOO_LONG = "The message has {:,} characters; at most {:,} are read."
SHORTEN = "Leave out what the question does not need, and ask again."

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def too_long(message: str) -> str:
    """Return what is wrong with a message that is too long to be read; "" for any other."""
    return TOO_LONG.format(len(message), LONGEST_MESSAGE) if len(message) > LONGEST_MESSAGE else ""


def check_length(message: str) -> None:
    """Raise `AthenaError` for a message that is too long to be read."""
    if problem := too_long(message):
        raise AthenaError(problem, SHORTEN)


def is_pasted(message: str) -> bool:
    """Tell whether a message is so long that only a part of it is searched for."""
    return len(message) > LONG


def asked_in(message: str) -> str:
    """Return what is searched for: a short message whole, of a pasted one its questions and its end.

    These are its last three sentences with a question mark and its last two of any kind, in their order, at
    most 600 characters.
    """
    if not is_pasted(message):
        return message
    sentences = [part.strip() for part in _SENTENCE_END.split(message) if part.strip()]
    asking = [place for place, sentence in enumerate(sentences) if sentence.endswith(("?", "？"))]
    last = range(max(0, len(sentences) - LAST), len(sentences))
    return " ".join(sentences[place][-LONG:] for place in sorted({*asking[-ASKING:], *last}))[-LONG:]


def small_talk(message: str, *, greeting: str = "") -> str:
    """Return the reply to a message that is a greeting or thanks and nothing else; "" for any other.

    The reply to a greeting ends with `greeting`, the persona's own.
    """
    words = " ".join(message.casefold().replace(",", " ").split()).rstrip(" .!")
    if words in GREETINGS:
        return f"Hello. {greeting}".strip()
    return "You are welcome." if words in THANKS else ""
