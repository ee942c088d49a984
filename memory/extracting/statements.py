"""What a user states about themselves, or asks to remember."""

from __future__ import annotations

from datetime import UTC, tzinfo

from memory.extracting.records import Statement


def statements_in(
    message: str, *, said_at: float, before: Statement | None = None, zone: tzinfo = UTC
) -> tuple[Statement, ...]:
    """The statements of a user's message in order; none of questions, hypotheticals and small talk.

    `said_at` is the message's time (epoch seconds). `before` is the last statement that the user made: what
    "actually, it is Y" corrects.
    """
    del message, said_at, before, zone
    return ()
