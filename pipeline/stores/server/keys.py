"""Keys in MongoDB: a record each, whose id is the key's name, so that no two have the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pymongo.errors import DuplicateKeyError

from pipeline.stores.keys import Key, Keys, name_taken
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.servers import Servers


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
            record = keys.find_one({"id": key_id}, {"_id": 0})
        return _key(record) if record else None

    def list(self) -> Sequence[Key]:
        """All keys, by name."""
        with self._servers.mongo.collection("keys") as keys:
            return [_key(record) for record in keys.find({}, {"_id": 0}).sort("name")]

    def revoke(self, name: str) -> bool:
        """Remove the key of a name or id; False where there is none."""
        with self._servers.mongo.collection("keys") as keys:
            return keys.delete_many({"$or": [{"_id": name}, {"id": name}]}).deleted_count > 0

    def close(self) -> None:
        """Release the connections."""
        self._servers.close()


def _key(record: Any) -> Key:
    return Key(**record | {"rights": tuple(record["rights"])})
