"""What a step may say of the secrets that it left out."""

from __future__ import annotations

from collections.abc import Sequence


def left_out(kinds: Sequence[str]) -> str:
    """The sentence on what was not kept; "" where there was nothing."""
    if not kinds:
        return ""
    names = [f"an {kind}" if kind[0] in "aeiou" else f"a {kind}" for kind in kinds]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"Not kept: {listed}."
