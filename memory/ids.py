"""Ids: random for memories and events, derived from their content for entities, mentions and relations."""

from __future__ import annotations

import uuid

SPACE = uuid.UUID("7c0b5a86-4f5e-4f0c-9a55-6a1f5b0d7e11")


def new_id() -> str:
    """Return a random id."""
    return str(uuid.uuid4())


def id_of(*parts: str) -> str:
    """Return the id of what these parts name: the same parts always give the same id."""
    return str(uuid.uuid5(SPACE, "\x1f".join(parts)))


def plain(text: str) -> str:
    """Return a text in lower case, with single spaces and without a full stop at its end."""
    return " ".join(text.casefold().split()).rstrip(".!")
