"""The message before the search: greetings, its size, and which part of a pasted one is searched for."""

from __future__ import annotations

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
LONGEST_MESSAGE = 20_000  # characters
TOO_LONG = "The message has {:,} characters; at most {:,} are read."
SHORTEN = "Leave out what the question does not need, and ask again."


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
    """Return what is searched for: a short message whole, of a pasted one its beginning and its end.

    There people ask; between stand the lines of a log or of code. It has at most `LONG` characters.
    """
    half = LONG // 2 - 1
    return f"{message[:half]}\n{message[-half:]}" if is_pasted(message) else message


def small_talk(message: str, *, greeting: str = "") -> str:
    """Return the reply to a message that is a greeting or thanks and nothing else; "" for any other.

    The reply to a greeting ends with `greeting`, the persona's own.
    """
    words = " ".join(message.casefold().replace(",", " ").split()).rstrip(" .!")
    if words in GREETINGS:
        return f"Hello. {greeting}".strip()
    return "You are welcome." if words in THANKS else ""
