"""The server store: MongoDB is the truth, Weaviate finds; for several processes at once."""

from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.store import OrphanReport, ServerStore, ServerVersions

__all__ = ["OrphanReport", "ServerAddresses", "ServerStore", "ServerVersions"]
