"""What is said of the sentences of an answer that no passage bears out."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.answer import Support
from pipeline.words import counted


def what_is_unsupported(support: Support) -> str:
    """What to say of a sentence that no passage bears out."""
    if support.missing:
        return f"The passages do not say: {', '.join(support.missing)}"
    return "No passage says this."


def how_many_unsupported(support: Sequence[Support]) -> str:
    """How many sentences of an answer lack support, in a few words; "" where none does."""
    lacking = sum(not item.supported for item in support)
    if not lacking:
        return ""
    return f"{lacking} of {counted(len(support), 'sentence')} unsupported"
