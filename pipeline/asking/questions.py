"""The user's message before the search: its length, small talk, the text to search for, and follow-ups.

Without a language model a message is searched for alone, and joined to the question before it. The second
search is used if its answer is probable enough and its first section has enough of the message's words. This
needs no grammar, so it works in any language. `docs/decisions/condensing.md` has the measurements.
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
LONG = 600  # characters: a longer message is taken for pasted text
LONGEST_MESSAGE = 20_000  # characters
LEAD = 0.1  # probability: long messages need this much more with it; `FEW` unanswered words, this much less
FEW = 2  # content words
COVERED = 0.5  # least share of the message's words in the first section found with the earlier question
LONGEST_EARLIER = 200  # characters of the earlier question
TOO_LONG = "The message has {:,} characters; at most {:,} are read."
SHORTEN = "Leave out what the question does not need, and ask again."


def check_length(message: str) -> None:
    """Raise `AthenaError` for a message of more than `LONGEST_MESSAGE` characters."""
    if len(message) > LONGEST_MESSAGE:
        raise AthenaError(TOO_LONG.format(len(message), LONGEST_MESSAGE), SHORTEN)


def asked_in(message: str) -> str:
    """Return the text to search for, at most `LONG` characters: a longer message's beginning and end.

    In a pasted message the question is at the beginning or the end; between them are lines of a log or code.
    """
    half = LONG // 2 - 1
    return f"{message[:half]}\n{message[-half:]}" if len(message) > LONG else message


def small_talk(message: str, *, greeting: str = "") -> str:
    """Return the reply to a message that is a greeting or thanks and nothing else; "" for any other.

    The reply to a greeting ends with `greeting`, the persona's text.
    """
    words = " ".join(message.casefold().replace(",", " ").split()).rstrip(" .!")
    if words in GREETINGS:
        return f"Hello. {greeting}".strip()
    return "You are welcome." if words in THANKS else ""


def earlier_question(history: Sequence[Message]) -> str:
    """Return the last user message in `history` that is not small talk, shortened; "" if there is none."""
    for said in reversed(history):
        if said.role == "user" and not small_talk(said.text):
            flat = " ".join(asked_in(said.text).split()).rstrip(" ?.!,;:")
            return flat if len(flat) <= LONGEST_EARLIER else flat[:LONGEST_EARLIER].rsplit(" ", 1)[0]
    return ""


def earlier_leads(message: str, alone: Retrieval, with_earlier: Retrieval) -> bool:
    """Return whether searching with the earlier question answers better than the message `alone`."""
    terms = set(content_terms(message)) - stop_terms()
    if not terms or not with_earlier.passages:
        return bool(with_earlier.passages)
    is_answered = alone.answerability.verdict == "answered"
    lead = LEAD if len(terms) > FEW else 0.0 if is_answered else -LEAD
    better = with_earlier.answerability.probability > alone.answerability.probability + lead
    return better and coverage(message, with_earlier.passages[0].section) >= COVERED
