"""Ids: of memories and events at random; of what is the same whenever it is read, from what it is."""

from __future__ import annotations

import uuid

SPACE = uuid.UUID("7c0b5a86-4f5e-4f0c-9a55-6a1f5b0d7e11")
ANSWER = "-answer"
"""Ends the id of what the assistant said in a turn."""


def new_id() -> str:
    """An id that nothing else has."""
    return str(uuid.uuid4())


def id_of(*parts: str) -> str:
    """The id of what these parts name, the same every time."""
    return str(uuid.uuid5(SPACE, "\x1f".join(parts)))


def plain(text: str) -> str:
    """A text without what two wordings of the same may differ in: case, blanks, the full stop."""
    return " ".join(text.casefold().split()).rstrip(".!")
