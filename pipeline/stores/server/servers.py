"""Both servers, shared by everything in a process that uses the same addresses."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

from pipeline.errors import StoreError
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.mongo import MongoServer


class Servers:
    """The clients of both servers, for one owner; they close with their last owner."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self.addresses = addresses
        self._shared: _Shared | None = _take(addresses)

    @property
    def mongo(self) -> MongoServer:
        """MongoDB."""
        return self._open().mongo

    def close(self) -> None:
        """Release them."""
        shared, self._shared = self._shared, None
        if shared is not None:
            _give_back(shared)

    def _open(self) -> _Shared:
        if self._shared is None:
            raise StoreError("The connection to the servers was closed.", "Open the store again.")
        return self._shared


@dataclass(slots=True)
class _Shared:
    key: tuple[int, ServerAddresses]
    mongo: MongoServer
    owners: int = field(default=0)


_lock = threading.Lock()
_all: dict[tuple[int, ServerAddresses], _Shared] = {}


def _take(addresses: ServerAddresses) -> _Shared:
    key = (os.getpid(), addresses)  # a forked process must not use its parent's connections
    with _lock:
        shared = _all.get(key)
        if shared is None:
            shared = _all[key] = _Shared(key, MongoServer(addresses))
        shared.owners += 1
        return shared


def _give_back(shared: _Shared) -> None:
    with _lock:
        shared.owners -= 1
        if shared.owners:
            return
        del _all[shared.key]
    shared.mongo.close()
