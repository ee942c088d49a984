"""The server store: MongoDB is the truth, Weaviate finds; for several processes at once."""

from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.orphans import OrphanReport
from pipeline.stores.server.store import ServerStore, ServerVersions

__all__ = ["OrphanReport", "ServerAddresses", "ServerStore", "ServerVersions"]
