"""Documents, conversations and memories copied from one store into another; nothing is embedded again.

The target keeps what it has, except older copies of conversations; the next copy continues one that stopped.
"""

from __future__ import annotations

from collections.abc import Callable

from pipeline.errors import StoreError
from pipeline.stores.base import DocumentInfo, DocumentStore, NewDocument, sentences_by_section
from pipeline.stores.conversations import Conversations
from pipeline.stores.memories import Memories, MemoryChanges

Report = Callable[[str, int, int], None]  # called with the kind of records, how many are done, and the total


def copy_documents(source: DocumentStore, target: DocumentStore, *, report: Report) -> int:
    """Copy the documents that the target lacks, and return their number.

    Raises `StoreError` if there is no index to copy or its rebuild was interrupted, and `ManifestMismatch` if
    the target was made with another format, embedding model, model file, recipe or splitter.
    """
    manifest = source.statistics().manifest
    if manifest is None:
        raise StoreError("There is no index to copy.", "Make one with `athena ingest FOLDER`.")
    wanted = source.documents()
    if not all(info.indexed_at for info in wanted):
        raise StoreError("A rebuild of this index was interrupted.", "Go on with `athena ingest FOLDER`.")
    with target.writing(manifest) as writing:
        present = {info.source for info in target.documents() if info.indexed_at}
        missing = [info for info in wanted if info.source not in present]
        for done, info in enumerate(missing, start=1):
            writing.replace(whole(source, info))
            report("Documents", done, len(missing))
    return len(missing)


def copy_conversations(source: Conversations, target: Conversations, *, report: Report) -> int:
    """Copy the conversations that the target lacks or has only in an older state, and return their number."""
    used = {info.id: info.updated_at for info in target.list()}
    missing = [info for info in source.list() if used.get(info.id, -1.0) < info.updated_at]
    for done, info in enumerate(reversed(missing), start=1):
        target.restore(source.get(info.id))
        report("Conversations", done, len(missing))
    return len(missing)


def copy_memories(source: Memories, target: Memories, *, report: Report) -> int:
    """Copy the memories of users for whom the target never stored any, and return the number of users."""
    missing = [user for user in source.users() if not target.load(user).version]
    for done, user in enumerate(missing, start=1):
        known = source.load(user)
        rows = known.memories, known.entities, known.mentions, known.relations
        target.apply(user, MemoryChanges(*rows), expected=0)
        report("Users", done, len(missing))
    return len(missing)


def whole(store: DocumentStore, info: DocumentInfo) -> NewDocument:
    """Return a stored document with its nodes and vectors, ready to be written to another store."""
    stored = store.document(info.source)
    ids = [section.node_id for section in stored.sections]
    sentences = [one for some in sentences_by_section(store, ids).values() for one in some]
    return NewDocument(
        id=info.id, source=info.source, root=info.root, title=info.title, hash=info.hash, text=stored.text,
        sections=stored.sections, sentences=sentences,
        vectors=store.vectors([*ids, *(sentence.node_id for sentence in sentences)]),
    )  # fmt: skip
