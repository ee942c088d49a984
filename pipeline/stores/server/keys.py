"""Keys in MongoDB: a record each, whose id is the key's name, so that no two have the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pymongo.errors import DuplicateKeyError

from pipeline.stores.keys import Key, Keys, as_revoked, name_taken
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.servers import Servers

HOLDS = {"hash": {"$ne": ""}}


class ServerKeys(Keys):
    """Fulfils `Keys`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._servers = Servers(addresses)

    def add(self, key: Key) -> None:
        """Store a new key; raises `ConfigurationError` where one of that name is there."""
        with self._servers.mongo.collection("keys") as keys:
            try:
                keys.insert_one({**asdict(key), "_id": key.name})
            except DuplicateKeyError as error:
                raise name_taken(key.name) from error

    def get(self, key_id: str) -> Key | None:
        """The key of an id, if it is stored."""
        with self._servers.mongo.collection("keys") as keys:
            record = keys.find_one({"id": key_id, **HOLDS}, {"_id": 0})
        return _key(record) if record else None

    def list(self) -> Sequence[Key]:
        """All keys, by name."""
        with self._servers.mongo.collection("keys") as keys:
            return [_key(record) for record in keys.find(HOLDS, {"_id": 0}).sort("name")]

    def revoke(self, name: str) -> bool:
        """Remove the key of a name or id, but for its id; False where there is none."""
        with self._servers.mongo.collection("keys") as keys:
            record = keys.find_one({"$or": [{"_id": name}, {"id": name}], **HOLDS}, {"_id": 0})
            if record is None:
                return False
            left = as_revoked(_key(record))
            keys.replace_one({"_id": left.name}, asdict(left), upsert=True)
            return keys.delete_one({"_id": record["name"], "id": left.id}).deleted_count > 0

    def revoked(self) -> Sequence[str]:
        """The ids of keys that were revoked here."""
        with self._servers.mongo.collection("keys") as keys:
            return [record["id"] for record in keys.find({"hash": ""}, {"id": 1})]

    def close(self) -> None:
        """Release the connections."""
        self._servers.close()


def _key(record: Any) -> Key:
    return Key(**record | {"rights": tuple(record["rights"])})
