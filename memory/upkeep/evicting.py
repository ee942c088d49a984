"""What leaves a conversation that has grown too long for the context, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.messages import Message

SHARE = 0.7  # of the context, from which on messages leave
STAYING = 5  # the last messages, which never do
WORDS = 50  # of the summary
CHARACTERS_A_TOKEN = 4
HISTORY_TOKENS = 2000

SUMMARISE = "Summarise this conversation in at most {words} words. Reply with the summary only.\n\n{said}"


@dataclass(frozen=True, slots=True)
class Evicted:
    """A conversation after eviction: what stays, and what left in a few words ("" where nothing did)."""

    staying: tuple[Message, ...]
    left: tuple[Message, ...] = ()
    summary: str = ""


def evict(
    history: Sequence[Message],
    *,
    context_tokens: int,
    count_tokens: Callable[[str], int],
    complete: Callable[[str], str] | None = None,
) -> Evicted:
    """Where a conversation takes more than 70 % of the context, its oldest messages leave.

    At least the last five stay.
    """
    room = int(context_tokens * SHARE)
    sizes = [count_tokens(said.text) for said in history]
    first = 0
    while sum(sizes[first:]) > room and len(history) - first > STAYING:
        first += 1
    left = tuple(history[:first])
    return Evicted(tuple(history[first:]), left, summary(left, complete=complete) if left else "")


def summary(said: Sequence[Message], *, complete: Callable[[str], str] | None = None) -> str:
    """What was said in at most 50 words: by a model, else the beginnings of the user's messages."""
    if complete is not None:
        text = "\n".join(f"{item.role}: {item.text}" for item in said)
        written = complete(SUMMARISE.replace("{words}", str(WORDS)).replace("{said}", text)).split()
        if written:
            return " ".join(written[:WORDS])
    asked = [item.text.split() for item in said if item.role == "user"]
    if not asked:
        return ""
    each = max(3, WORDS // len(asked))
    words = [
        word for number, text in enumerate(asked) for word in (*text[:each], ";" * (number < len(asked) - 1))
    ]
    joined = " ".join(word for word in words if word).replace(" ;", ";")
    return " ".join(joined.split()[:WORDS])


def summary_of_left(history: Sequence[Message]) -> str:
    """What has to leave a prompt of 2,000 tokens of history, by rules; "" where all of it fits."""
    found = evict(
        history,
        context_tokens=int(HISTORY_TOKENS / SHARE),
        count_tokens=lambda text: len(text) // CHARACTERS_A_TOKEN,
    )
    return found.summary
