"""Which store: the embedded one in the data folder, or the servers; and the conversations beside it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Protocol, TypeVar

from athena.loading import part
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
    from pipeline.stores.migration import Migration
    from pipeline.stores.server import ServerAddresses, ServerStore

Opened = TypeVar("Opened", bound="Closes")
Report = Callable[[str, int, int], None]  # what, done, total


class Closes(Protocol):
    """A store that is closed at the end."""

    def close(self) -> None:
        """Release files and connections."""


def _ignore(what: str, done: int, total: int) -> None:
    """Report nothing."""


SPLITTER = "punkt-1"
"""Names how sections are cut into sentences; an index of another one has to be rebuilt."""


def manifest_of(encoder: Encoder) -> Manifest:
    """What an index made now is made with."""
    return Manifest(FORMAT, encoder.name, encoder.dimensions, SPLITTER, encoder.fingerprint, EMBEDDING_RECIPE)


def open_store(settings: Settings, manifest: Manifest) -> DocumentStore:
    """The documents, sections and sentences."""
    if settings.store == "server":
        return _server_store()(server_addresses(settings), manifest=manifest)
    from pipeline.stores.embedded import EmbeddedStore

    return EmbeddedStore(settings.data_dir, manifest=manifest)


def open_conversations(settings: Settings) -> Conversations:
    """The conversations, in the same store."""
    if settings.store == "server":
        _server_store()
        from pipeline.stores.server.conversations import ServerConversations

        return ServerConversations(server_addresses(settings))
    from pipeline.stores.embedded.conversations import EmbeddedConversations
    from pipeline.stores.embedded.database import FILE_NAME

    return EmbeddedConversations(settings.data_dir / FILE_NAME)


def open_keys(settings: Settings) -> Keys:
    """The keys of other programs, in the same store."""
    if settings.store == "server":
        _server_store()
        from pipeline.stores.server.keys import ServerKeys

        return ServerKeys(server_addresses(settings))
    from pipeline.stores.embedded.database import FILE_NAME
    from pipeline.stores.embedded.keys import EmbeddedKeys

    return EmbeddedKeys(settings.data_dir / FILE_NAME)


def open_memories(settings: Settings) -> Memories:
    """The memories of all users, in the same store."""
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
    target: str, settings: Settings, manifest: Manifest, *, force: bool = False, report: Report | None = None
) -> Migration:
    """Copy documents, conversations and memories into `target`, "embedded" or "server", from the other."""
    from pipeline.stores import migration

    report = report or _ignore
    into = settings.model_copy(update={"store": target})
    other = settings.model_copy(update={"store": "server" if target == "embedded" else "embedded"})
    with ExitStack() as opened:

        def pair(open_one: Callable[[Settings], Opened]) -> tuple[Opened, Opened]:
            return opened.enter_context(closing(open_one(other))), opened.enter_context(
                closing(open_one(into))
            )

        return migration.Migration(
            migration.copy_documents(
                *pair(lambda chosen: open_store(chosen, manifest)), force=force, report=report
            ),
            migration.copy_conversations(*pair(open_conversations), report=report),
            migration.copy_memories(*pair(open_memories), report=report),
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
