"""API keys in MongoDB: one record each, whose id is the key's name, so that no two have the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from pymongo.errors import DuplicateKeyError

from pipeline.stores.keys import Key, Keys, name_taken
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.connections import connect, disconnect


class ServerKeys(Keys):
    """Fulfils `Keys`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._connections = connect(addresses)

    def add(self, key: Key) -> None:
        """Store a new key; raises `ConfigurationError` where one of that name is stored."""
        with self._connections.mongodb() as database:
            try:
                database["keys"].insert_one({**asdict(key), "_id": key.name})
            except DuplicateKeyError as error:
                raise name_taken(key.name) from error

    def list(self) -> Sequence[Key]:
        """All keys, by name."""
        with self._connections.mongodb() as database:
            records = [*database["keys"].find({}, {"_id": 0}).sort("name")]
        return [Key(**{**record, "rights": tuple(record["rights"])}) for record in records]

    def revoke(self, name: str) -> bool:
        """Remove the key of a name or id; False where there is none."""
        with self._connections.mongodb() as database:
            found = database["keys"].delete_many({"$or": [{"_id": name}, {"id": name}]})
        return found.deleted_count > 0

    def close(self) -> None:
        """Give up the connections."""
        disconnect(self._connections)
