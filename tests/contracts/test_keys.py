"""Keys, in every store: what is kept of them, and when they open nothing any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import ConfigurationError
from pipeline.stores.base import Store
from pipeline.stores.keys import Keys


@pytest.fixture
def keys(store: Store) -> Keys:
    """No keys yet, in each store in turn."""
    return Keys(store.rows)


def test_a_key_opens_until_it_is_revoked_and_is_stored_nowhere(keys: Keys, tmp_path: Path) -> None:
    key, secret = keys.add("ann's laptop", user="ann", rights=("read", "write"), days=1)
    keys.add("another")
    assert keys.find(secret) == key
    assert (key.user, key.rights) == ("ann", ("read", "write"))
    assert [kept.name for kept in keys.list()] == ["ann's laptop", "another"]
    for other in (secret[:-1], secret.replace("athena_", "other_"), "", key.hash):
        assert keys.find(other) is None
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secret.removeprefix("athena_").encode() not in stored
    assert keys.revoke("ann's laptop") and not keys.revoke("ann's laptop")
    assert keys.find(secret) is None
    assert [kept.name for kept in keys.list()] == ["another"]
    keys.add("ann's laptop")  # the name is free


def test_a_key_expires(keys: Keys) -> None:
    assert keys.find(keys.add("short", days=-1)[1]) is None


def test_a_name_is_one_keys_and_a_right_is_a_known_one(keys: Keys) -> None:
    keys.add("one")
    with pytest.raises(ConfigurationError, match="key 'one' already"):
        keys.add("one")
    with pytest.raises(ConfigurationError, match="read, remember, write"):
        keys.add("two", rights=("fly",))
