"""Greetings and thanks: the only messages that get a fixed reply instead of a search."""

from __future__ import annotations

GREETINGS = frozenset({
    "hi", "hello", "hey", "hi there", "hello there", "good morning", "good afternoon", "good evening",
    "hallo", "guten tag", "bonjour", "hola", "ciao",
})  # fmt: skip
THANKS = frozenset({
    "thanks", "thank you", "thanks a lot", "thank you very much", "many thanks", "thx", "ok thanks",
    "danke", "vielen dank", "merci", "gracias", "grazie",
})  # fmt: skip


def small_talk(message: str, *, greeting: str = "") -> str:
    """Return the reply to a message that is a greeting or thanks and nothing else; "" for any other.

    The reply to a greeting ends with `greeting`, the persona's own.
    """
    words = " ".join(message.casefold().replace(",", " ").split()).rstrip(" .!")
    if words in GREETINGS:
        return f"Hello. {greeting}".strip()
    return "You are welcome." if words in THANKS else ""
