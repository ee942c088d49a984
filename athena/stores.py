"""Which store: the embedded one in the data folder, or the servers; and the conversations beside it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from athena.loading import part
from athena.settings import Settings
from pipeline.analysis import EMBEDDING_RECIPE
from pipeline.errors import ConfigurationError, StoreError
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore, Manifest
from pipeline.stores.manifest import FORMAT

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.embedded.vectors import Embed
    from pipeline.stores.keys import Keys
    from pipeline.stores.memories import Memories
    from pipeline.stores.migration import Migration
    from pipeline.stores.server import ServerAddresses, ServerStore

SPLITTER = "punkt-1"
"""Names how sections are cut into sentences; an index of another one has to be rebuilt."""


def manifest_of(encoder: Encoder) -> Manifest:
    """What an index made now is made with."""
    return Manifest(FORMAT, encoder.name, encoder.dimensions, SPLITTER, encoder.fingerprint, EMBEDDING_RECIPE)


def open_store(settings: Settings, manifest: Manifest, *, embed: Embed | None = None) -> DocumentStore:
    """The documents, sections and sentences; `embed` makes vectors again that are damaged."""
    if settings.store == "server":
        return _server_store()(server_addresses(settings), manifest=manifest)
    from pipeline.stores.embedded import EmbeddedStore

    return EmbeddedStore(settings.data_dir, manifest=manifest, embed=embed)


def open_conversations(settings: Settings) -> Conversations:
    """The conversations, in the same store."""
    if settings.store == "server":
        _server_store()
        from pipeline.stores.server.conversations import ServerConversations

        return ServerConversations(server_addresses(settings))
    from pipeline.stores.embedded.conversations import EmbeddedConversations
    from pipeline.stores.embedded.database import FILE_NAME

    return EmbeddedConversations(settings.data_dir / FILE_NAME)


def keeps_conversations(settings: Settings) -> bool:
    """Whether the data folder can be written; a server says so itself."""
    if settings.store == "server":
        return True
    from pipeline.stores.embedded.database import FILE_NAME
    from pipeline.stores.embedded.reading_only import is_read_only

    return not is_read_only(settings.data_dir / FILE_NAME)


def open_memories(settings: Settings) -> Memories:
    """What is remembered of each user, in the same store; its graph in Neo4j, too, where that is set."""
    memories = _memories_of_store(settings)
    if not settings.neo4j_url:
        return memories
    from pipeline.stores.neo4j.address import GraphAddress
    from pipeline.stores.neo4j.graph import Neo4jGraph
    from pipeline.stores.neo4j.memories import MemoriesWithGraph

    return MemoriesWithGraph(memories, Neo4jGraph(part(settings, GraphAddress)))


def open_keys(settings: Settings) -> Keys:
    """The keys of other programs, in the same store."""
    if settings.store == "server":
        _server_store()
        from pipeline.stores.server.keys import ServerKeys

        return ServerKeys(server_addresses(settings))
    from pipeline.stores.embedded.database import FILE_NAME
    from pipeline.stores.embedded.keys import EmbeddedKeys

    return EmbeddedKeys(settings.data_dir / FILE_NAME)


def _memories_of_store(settings: Settings) -> Memories:
    if settings.store == "server":
        _server_store()
        from pipeline.stores.server.memories import ServerMemories

        return ServerMemories(server_addresses(settings))
    from pipeline.stores.embedded.database import FILE_NAME
    from pipeline.stores.embedded.memories import EmbeddedMemories

    return EmbeddedMemories(settings.data_dir / FILE_NAME)


def require_index(settings: Settings, store: DocumentStore) -> None:
    """Nothing; raises `StoreError` where nothing was ever indexed."""
    if store.sections.manifest() is None:
        where = "the servers" if settings.store == "server" else f"'{settings.data_dir}'"
        raise StoreError(
            f"Nothing is indexed in {where} yet.", "Index a folder of Markdown with `athena ingest FOLDER`."
        )


def server_addresses(settings: Settings) -> ServerAddresses:
    """Where MongoDB and Weaviate are; raises `ConfigurationError`."""
    _server_store()
    from pipeline.stores.server import ServerAddresses

    return part(settings, ServerAddresses)


def copy_to(
    target: str,
    settings: Settings,
    manifest: Manifest,
    *,
    force: bool = False,
    report: Callable[[str, int, int], None] | None = None,
) -> Migration:
    """Copy all that is kept from the other store into this: "embedded" or "server"."""
    from pipeline.stores.migration import migrate

    with ExitStack() as opened:

        def all_of(name: str) -> tuple[DocumentStore, Conversations, Memories, Keys]:
            chosen = settings.model_copy(update={"store": name})
            store = opened.enter_context(closing(open_store(chosen, manifest)))
            conversations = opened.enter_context(closing(open_conversations(chosen)))
            memories = opened.enter_context(closing(open_memories(chosen)))
            keys = opened.enter_context(closing(open_keys(chosen)))
            return store, conversations, memories, keys

        other = "server" if target == "embedded" else "embedded"
        store, conversations, memories, keys = all_of(other)
        into, into_conversations, into_memories, into_keys = all_of(target)
        return migrate(
            store,
            into,
            conversations=(conversations, into_conversations),
            memories=(memories, into_memories),
            keys=(keys, into_keys),
            force=force,
            report=report,
        )


def _server_store() -> type[ServerStore]:
    """The server store's class; raises `ConfigurationError` with what to install."""
    try:
        from pipeline.stores.server import ServerStore
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"ATHENA_STORE=server needs the package '{error.name}', which is not installed.",
            "Install the extra: `pip install 'athena-docs[server]'`.",
        ) from error
    return ServerStore
