"""When a statement is true: dates and relative dates, resolved against the time it was said."""

from __future__ import annotations

from datetime import UTC, tzinfo

from memory.extracting.records import Validity


def validity_of(text: str, *, said_at: float, zone: tzinfo = UTC) -> Validity:
    """From when until when a text says that something is true; from `said_at` on where it does not say."""
    del text, zone
    return Validity(said_at)
