"""What is not kept: what a step may say of the secrets that it left out, and texts that are too long."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.errors import AthenaError

MOST_CHARACTERS = 10_000  # of one memory


def refuse_long(text: str, which: str = "This memory") -> None:
    """Raise `AthenaError` for a text that is too long to be one memory."""
    if len(text) > MOST_CHARACTERS:
        raise AthenaError(
            f"{which} has {len(text):,} characters; the most is {MOST_CHARACTERS:,}.",
            "Shorten it, or add it as a document.",
        )


def left_out(kinds: Sequence[str]) -> str:
    """The sentence on what was not kept; "" where there was nothing."""
    if not kinds:
        return ""
    names = [f"an {kind}" if kind[0] in "aeiou" else f"a {kind}" for kind in kinds]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"Not kept: {listed}."
