"""The embedded store: one SQLite file, and two indexes derived from it."""

from pipeline.stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
