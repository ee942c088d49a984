"""API keys in MongoDB: a record each, whose id is the key's name, so that no two have the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from pymongo.errors import DuplicateKeyError

from pipeline.stores.keys import Key, Keys, name_taken
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.servers import Servers


class ServerKeys(Keys):
    """Fulfils `Keys`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._servers = Servers(addresses)

    def add(self, key: Key) -> None:
        """Store a new key; raises `ConfigurationError` where one of that name is stored."""
        with self._servers.mongo.collection("keys") as keys:
            try:
                keys.insert_one({**asdict(key), "_id": key.name})
            except DuplicateKeyError as error:
                raise name_taken(key.name) from error

    def list(self) -> Sequence[Key]:
        """All keys, by name."""
        with self._servers.mongo.collection("keys") as keys:
            return [
                Key(**record | {"rights": tuple(record["rights"])})
                for record in keys.find({}, {"_id": 0}).sort("name")
            ]

    def revoke(self, name: str) -> bool:
        """Remove the key of a name or id; False where there is none."""
        with self._servers.mongo.collection("keys") as keys:
            return keys.delete_many({"$or": [{"_id": name}, {"id": name}]}).deleted_count > 0

    def close(self) -> None:
        """Release the connections."""
        self._servers.close()
