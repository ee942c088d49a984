"""API keys: their users and their rights. The secret itself is not stored."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from pipeline.errors import ConfigurationError
from pipeline.options import DEFAULT_USER
from pipeline.stores.rows import Row, Rows, find

PREFIX = "athena_"
RIGHTS = ("read", "remember", "write")
"""In this order: search and ask; keep conversations and memories; change the documents."""
DAY_S = 86_400.0
SECRET_BYTES = 24


@dataclass(frozen=True, slots=True)
class Key:
    """One user's key; times in seconds since the epoch, None never expires.

    `hash` is the SHA-256 of the secret that its owner sends. One round is enough: 192 random bits cannot be
    guessed, however fast the attempts.
    """

    name: str
    user: str
    rights: tuple[str, ...]
    created_at: float
    expires_at: float | None
    hash: str


_KEY = TypeAdapter(Key)


class Keys:
    """The keys of one store, by name."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def add(
        self,
        name: str,
        *,
        user: str = DEFAULT_USER,
        rights: Sequence[str] = RIGHTS,
        days: float | None = None,
    ) -> tuple[Key, str]:
        """Store a new key; return it with its secret, which cannot be read again.

        Raises `ConfigurationError` for an unknown right, or if there is a key with that name.
        """
        if unknown := sorted(set(rights) - set(RIGHTS)):
            raise ConfigurationError(
                f"A key cannot have the right '{unknown[0]}'.", f"Rights are {', '.join(RIGHTS)}."
            )
        sent, now = PREFIX + secrets.token_urlsafe(SECRET_BYTES), time.time()
        expires = None if days is None else now + days * DAY_S
        key = Key(name, user, tuple(rights), now, expires, _hash(sent))
        row = Row(id=name, user=user, head=_KEY.dump_json(key).decode())
        if not self._rows.swap("api_key", row, expected=0):
            raise ConfigurationError(
                f"There is a key '{name}' already.", "Choose another name, or revoke that one first."
            )
        return key, sent

    def list(self) -> Sequence[Key]:
        """Return all keys, sorted by name."""
        return [_KEY.validate_json(row.head) for row in reversed(self._rows.select("api_key"))]

    def find(self, sent: str) -> Key | None:
        """Return the key with the secret that was sent; None if there is none, or if it has expired."""
        valid = (key for key in self.list() if key.expires_at is None or key.expires_at > time.time())
        return next((key for key in valid if key.hash == _hash(sent)), None)

    def revoke(self, name: str) -> bool:
        """Delete the key with this name; return False if there is none."""
        row = find(self._rows, "api_key", name)
        self._rows.put("api_key", removed=[name])
        return row is not None


def _hash(sent: str) -> str:
    return hashlib.sha256(sent.encode()).hexdigest()
