"""What is said of what leaves a conversation that has grown too long for its prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pipeline.messages import Message

WORDS = 50  # of the summary

SUMMARISE = "Summarise this conversation in at most {words} words. Reply with the summary only.\n\n{said}"


def summary(said: Sequence[Message], *, complete: Callable[[str], str] | None = None) -> str:
    """What was said in at most 50 words: by a model, else the beginnings of the user's messages."""
    if complete is not None:
        text = "\n".join(f"{item.role}: {item.text}" for item in said)
        written = complete(SUMMARISE.replace("{words}", str(WORDS)).replace("{said}", text)).split()
        if written:
            return " ".join(written[:WORDS])
    asked = [item.text.split() for item in said if item.role == "user"]
    each = max(3, WORDS // max(1, len(asked)))
    return " ".join("; ".join(" ".join(words[:each]) for words in asked).split()[:WORDS])
