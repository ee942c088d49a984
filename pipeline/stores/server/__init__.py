"""The server store, for several processes and machines: MongoDB and Weaviate."""

from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.store import ServerStore

__all__ = ["ServerAddresses", "ServerStore"]
