"""API keys: whose they are and what they may do. The secret itself is stored nowhere."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pipeline.errors import ConfigurationError
from pipeline.options import DEFAULT_USER
from pipeline.stores.rows import Row, Rows

PREFIX = "athena"
RIGHTS = ("read", "remember", "write")
"""Search and ask; keep conversations and memories; change the documents."""
DAY_S = 86_400.0
ID_BYTES = 6
SECRET_BYTES = 24
SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Key:
    """One key: it is one user's. Times in seconds since the epoch; None never expires."""

    id: str
    name: str
    user: str
    rights: tuple[str, ...]
    salt: str
    hash: str
    created_at: float
    expires_at: float | None = None

    def opens(self, secret: str) -> bool:
        """Whether this is its secret, and it has not expired."""
        return hmac.compare_digest(self.hash, _hashed(self.salt, secret)) and self.holds()

    def holds(self) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or time.time() < self.expires_at


class Keys:
    """The keys of one store, by name."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def add(self, key: Key) -> None:
        """Store a new key; raises `ConfigurationError` where one of that name is stored."""
        row = Row(id=key.name, user=key.user, head=json.dumps(asdict(key)))
        if not self._rows.swap("api_key", row, expected=0):
            raise ConfigurationError(
                f"There is a key '{key.name}' already.", "Choose another name, or revoke that one first."
            )

    def list(self) -> Sequence[Key]:
        """All keys, by name."""
        found = [json.loads(row.head) for row in reversed(self._rows.select("api_key"))]
        return [Key(**{**stored, "rights": tuple(stored["rights"])}) for stored in found]

    def get(self, key_id: str) -> Key | None:
        """The key of an id; None where it is not stored."""
        return next((key for key in self.list() if key.id == key_id), None)

    def revoke(self, name: str) -> bool:
        """Delete the key of a name or id; False where there is none."""
        names = [key.name for key in self.list() if name in (key.name, key.id)]
        return self._rows.delete("api_key", names) > 0


def new_key(
    name: str, *, user: str = DEFAULT_USER, rights: Sequence[str] = RIGHTS, days: float | None = None
) -> tuple[Key, str]:
    """A new key and what its owner sends; that is shown once, as nobody can read it again."""
    if unknown := sorted(set(rights) - set(RIGHTS)):
        raise ConfigurationError(
            f"A key cannot have the right '{unknown[0]}'.", f"Rights are {', '.join(RIGHTS)}."
        )
    id_, secret, salt = (
        secrets.token_hex(ID_BYTES),
        secrets.token_urlsafe(SECRET_BYTES),
        secrets.token_hex(SALT_BYTES),
    )
    now = time.time()
    expires = None if days is None else now + days * DAY_S
    known = tuple(right for right in RIGHTS if right in rights)
    return Key(id_, name, user, known, salt, _hashed(salt, secret), now, expires), f"{PREFIX}_{id_}_{secret}"


def found(keys: Keys, sent: str) -> Key | None:
    """The key that was sent, if it is stored and holds."""
    prefix, _, rest = sent.partition("_")
    id_, _, secret = rest.partition("_")
    key = keys.get(id_) if prefix == PREFIX and id_ and secret else None
    return key if key is not None and key.opens(secret) else None


def _hashed(salt: str, secret: str) -> str:
    """One round is enough: a secret of 192 random bits cannot be guessed, however fast one guesses."""
    return hashlib.sha256(f"{salt}{secret}".encode()).hexdigest()
