"""The message before the search: greetings, its size, the part that is searched for, and follow-ups.

Without a language model a message is searched alone and with the question before it. The more probable answer
leads, where its first section has as many of the message's words. This needs no grammar, so it works in any
language. `docs/decisions/condensing.md` has the measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.analysis import content_terms, stop_terms
from pipeline.errors import AthenaError
from pipeline.finding.names import coverage

if TYPE_CHECKING:
    from pipeline.answer import Message, Retrieval

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
LEAD = 0.1  # of a message of few words that is not answered alone, the other reading may be so much worse
FEW = 2  # content words
COVERED = 0.5  # share of the message's words in the first section found with the earlier question
LONGEST_EARLIER = 200  # characters of the earlier question
TOO_LONG = "The message has {:,} characters; at most {:,} are read."
SHORTEN = "Leave out what the question does not need, and ask again."


def check_length(message: str) -> None:
    """Raise `AthenaError` for a message that is too long to be read."""
    if len(message) > LONGEST_MESSAGE:
        raise AthenaError(TOO_LONG.format(len(message), LONGEST_MESSAGE), SHORTEN)


def asked_in(message: str) -> str:
    """Return what is searched for: a short message whole, of a pasted one its beginning and its end.

    There people ask; between stand the lines of a log or of code. It has at most `LONG` characters.
    """
    half = LONG // 2 - 1
    return f"{message[:half]}\n{message[-half:]}" if len(message) > LONG else message


def small_talk(message: str, *, greeting: str = "") -> str:
    """Return the reply to a message that is a greeting or thanks and nothing else; "" for any other.

    The reply to a greeting ends with `greeting`, the persona's own.
    """
    words = " ".join(message.casefold().replace(",", " ").split()).rstrip(" .!")
    if words in GREETINGS:
        return f"Hello. {greeting}".strip()
    return "You are welcome." if words in THANKS else ""


def earlier_question(history: Sequence[Message]) -> str:
    """Return the user's last message before this one that is no small talk, shortened; "" without one."""
    for said in reversed(history):
        if said.role == "user" and not small_talk(said.text):
            flat = " ".join(asked_in(said.text).split()).rstrip(" ?.!,;:")
            return flat if len(flat) <= LONGEST_EARLIER else flat[:LONGEST_EARLIER].rsplit(" ", 1)[0]
    return ""


def earlier_leads(message: str, alone: Retrieval, with_earlier: Retrieval) -> bool:
    """Tell whether the search with the earlier question answers a message better than the message alone."""
    terms = set(content_terms(message)) - stop_terms()
    if not terms or not with_earlier.passages:
        return bool(with_earlier.passages)
    is_answered = alone.answerability.verdict == "answered"
    lead = LEAD if len(terms) > FEW else 0.0 if is_answered else -LEAD
    better = with_earlier.answerability.probability > alone.answerability.probability + lead
    covered = max((coverage(message, passage.section) for passage in alone.passages[:1]), default=0.0)
    return better and coverage(message, with_earlier.passages[0].section) >= max(COVERED, covered)
