"""Keys, in every store: what is kept of them, and when they open nothing any more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import ConfigurationError
from pipeline.stores.base import Store
from pipeline.stores.keys import Keys, found, new_key


@pytest.fixture
def keys(store: Store) -> Keys:
    """No keys yet, in each store in turn."""
    return Keys(store.rows)


def test_a_key_opens_until_it_is_revoked_and_is_stored_nowhere(keys: Keys, tmp_path: Path) -> None:
    key, secret = new_key("ann's laptop", user="ann", rights=("write", "read"), days=1)
    keys.add(key)
    keys.add(new_key("another")[0])
    assert found(keys, secret) == key
    assert (key.user, key.rights) == ("ann", ("read", "write"))
    assert [kept.name for kept in keys.list()] == ["ann's laptop", "another"]
    assert not found(keys, secret[:-1]) and not found(keys, secret.replace("athena_", "other_"))
    assert not found(keys, "") and not found(keys, f"athena_{key.id}_")
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secret.split("_", 2)[2].encode() not in stored
    assert keys.revoke("ann's laptop") and not keys.revoke("ann's laptop") and not keys.revoke(key.id)
    assert found(keys, secret) is None
    assert [kept.name for kept in keys.list()] == ["another"]
    keys.add(new_key("ann's laptop")[0])  # the name is free
    assert keys.revoke(keys.list()[0].id)


def test_a_key_expires(keys: Keys) -> None:
    key, secret = new_key("short", days=1)
    keys.add(replace(key, expires_at=key.created_at - 1))
    assert found(keys, secret) is None


def test_a_name_is_one_keys_and_a_right_is_a_known_one(keys: Keys) -> None:
    keys.add(new_key("one")[0])
    with pytest.raises(ConfigurationError, match="There is a key 'one' already"):
        keys.add(new_key("one")[0])
    with pytest.raises(ConfigurationError, match="Rights are read, remember, write"):
        new_key("two", rights=("fly",))
