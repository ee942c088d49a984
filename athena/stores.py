"""Which store: files in the data folder, or MongoDB and Weaviate."""

from __future__ import annotations

from collections.abc import Callable

from athena.loading import options_of
from athena.settings import Settings
from pipeline.analysis import EMBEDDING_RECIPE
from pipeline.errors import NothingIndexed, extra_for
from pipeline.models.base import Encoder
from pipeline.stores.base import FORMAT, DocumentStore, Manifest, Store

SPLITTER = "punkt-1"
"""Names how sections are cut into sentences; an index of another one has to be rebuilt."""


def open_store(settings: Settings, manifest: Callable[[], Manifest] | None = None) -> Store:
    """Return the store that the settings choose; the caller closes it.

    A search in an index that was not made with `manifest` raises `ManifestMismatch`. Raises
    `ConfigurationError` where the drivers of the servers are not installed.
    """
    match settings.store:
        case "embedded":
            from pipeline.stores.embedded import EmbeddedStore

            return EmbeddedStore(settings.data_dir, manifest=manifest)
        case "server":
            with extra_for("ATHENA_STORE=server", "server"):
                from pipeline.stores.server import ServerAddresses, ServerStore
            return ServerStore(options_of(settings, ServerAddresses), manifest=manifest)


def manifest_of(encoder: Encoder) -> Manifest:
    """Return the description of an index that is made with an embedding model."""
    return Manifest(FORMAT, encoder.name, encoder.dimensions, SPLITTER, encoder.fingerprint, EMBEDDING_RECIPE)


def require_index(settings: Settings, store: DocumentStore) -> None:
    """Raise `NothingIndexed` where nothing was ever indexed."""
    if store.statistics().manifest is None:
        where = "the servers" if settings.store == "server" else f"'{settings.data_dir}'"
        raise NothingIndexed(
            f"Nothing is indexed in {where} yet.", "Index a folder of Markdown with `athena ingest FOLDER`."
        )
