"""Follow-ups without a language model: the message is searched alone and with the question before it.

The more probable answer leads, where its first section has the message's words. This needs no grammar, so it
works in any language. `docs/decisions/condensing.md` has the measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.analysis import analyse
from pipeline.asking.questions import asked_in, small_talk
from pipeline.terms import content_terms, share, stop_terms

if TYPE_CHECKING:
    from pipeline.answer import Retrieval
    from pipeline.messages import Message

LEAD = 0.1  # of a message of few words, the reading with the earlier question may be so much worse
FEW = 2  # content words
COVERED = 0.5  # share of the message's words in the first section found with the earlier question
LONGEST_EARLIER = 200  # characters of the earlier question


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
    lead = -LEAD if len(terms) <= FEW else LEAD
    first = with_earlier.passages[0].section
    words = analyse(f"{first.text} {' '.join(first.metadata['heading_path'])}")
    better = with_earlier.answerability.probability > alone.answerability.probability + lead
    return better and share(terms, set(words)) >= COVERED
