"""Which store: files in the data folder, or MongoDB and Weaviate."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from athena.lazy import Lazy
from athena.loading import options_of
from athena.settings import Settings
from pipeline.analysis import EMBEDDING_RECIPE
from pipeline.errors import ConfigurationError, StoreError
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore, Manifest
from pipeline.stores.manifest import FORMAT

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.keys import Keys
    from pipeline.stores.memories import Memories

SPLITTER = "punkt-1"
"""Names how sections are cut into sentences; an index of another one has to be rebuilt."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The parts of one store, each opened at its first use."""

    documents: Lazy[DocumentStore]
    conversations: Lazy[Conversations]
    memories: Lazy[Memories]
    keys: Lazy[Keys]

    def close(self) -> None:
        """Release files and connections of the parts that were opened, also where one of them fails."""
        with ExitStack() as last:
            for part in (self.documents, self.memories, self.conversations, self.keys):
                if part.made is not None:
                    last.callback(part.made.close)


def build_stores(settings: Settings, manifest: Callable[[], Manifest]) -> Stores:
    """Return the store that the settings choose; `manifest` describes an index that would be made now."""
    match settings.store:
        case "server":
            return _server_stores(settings, manifest)
        case "embedded":
            return _embedded_stores(settings, manifest)


def open_keys(settings: Settings) -> Keys:
    """Return the API keys alone; the caller closes them."""

    def no_manifest() -> Manifest:
        raise StoreError("The keys have no manifest.")

    return build_stores(settings, no_manifest).keys()


def manifest_of(encoder: Encoder) -> Manifest:
    """Return the description of an index that is made with an embedding model."""
    return Manifest(FORMAT, encoder.name, encoder.dimensions, SPLITTER, encoder.fingerprint, EMBEDDING_RECIPE)


def require_index(settings: Settings, store: DocumentStore) -> None:
    """Raise `StoreError` where nothing was ever indexed."""
    if store.sections.manifest() is None:
        where = "the servers" if settings.store == "server" else f"'{settings.data_dir}'"
        raise StoreError(
            f"Nothing is indexed in {where} yet.", "Index a folder of Markdown with `athena ingest FOLDER`."
        )


def _embedded_stores(settings: Settings, manifest: Callable[[], Manifest]) -> Stores:
    """One SQLite file and the indexes beside it."""
    from pipeline.stores.embedded.database import FILE_NAME

    file = settings.data_dir / FILE_NAME

    def documents() -> DocumentStore:
        from pipeline.stores.embedded import EmbeddedStore

        return EmbeddedStore(settings.data_dir, manifest=manifest())

    def conversations() -> Conversations:
        from pipeline.stores.embedded.conversations import EmbeddedConversations

        return EmbeddedConversations(file)

    def memories() -> Memories:
        from pipeline.stores.embedded.memories import EmbeddedMemories

        return EmbeddedMemories(file)

    def keys() -> Keys:
        from pipeline.stores.embedded.keys import EmbeddedKeys

        return EmbeddedKeys(file)

    return Stores(Lazy(documents), Lazy(conversations), Lazy(memories), Lazy(keys))


def _server_stores(settings: Settings, manifest: Callable[[], Manifest]) -> Stores:
    """MongoDB and Weaviate; raises `ConfigurationError` where their drivers are not installed."""
    try:
        from pipeline.stores.server import ServerAddresses, ServerStore
        from pipeline.stores.server.conversations import ServerConversations
        from pipeline.stores.server.keys import ServerKeys
        from pipeline.stores.server.memories import ServerMemories
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"ATHENA_STORE=server needs the package '{error.name}', which is not installed.",
            "Install the extra: `pip install 'athena-docs[server]'`.",
        ) from error
    addresses = options_of(settings, ServerAddresses)
    return Stores(
        Lazy(lambda: ServerStore(addresses, manifest=manifest())),
        Lazy(lambda: ServerConversations(addresses)),
        Lazy(lambda: ServerMemories(addresses)),
        Lazy(lambda: ServerKeys(addresses)),
    )
