"""Documents, conversations and memories copied from one store into another; nothing is embedded again.

What the target has already is left alone, so that the next copy continues one that was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import ManifestMismatch, StoreError
from pipeline.stores.base import (
    DocumentInfo,
    DocumentStore,
    NewDocument,
    sentences_by_section,
    why_outdated,
)
from pipeline.stores.memories import MemoryChanges

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.memories import Memories

Report = Callable[[str, int, int], None]  # what, done, total


@dataclass(frozen=True, slots=True)
class Migration:
    """How many documents, conversations and users' memories were copied; the others were there already."""

    documents: int
    conversations: int
    memories: int  # users


def copy_documents(source: DocumentStore, target: DocumentStore, *, force: bool, report: Report) -> int:
    """Copy the documents that the target lacks, and return how many.

    Raises:
        StoreError: there is nothing to copy, or the target has other documents and `force` is not given.
        ManifestMismatch: the target was made with another embedding model, model file, recipe or splitter.
    """
    manifest = source.sections.statistics().manifest
    if manifest is None:
        raise StoreError("There is no index to copy.", "Make one with `athena ingest FOLDER`.")
    if outdated := why_outdated(target.sections.statistics().manifest, manifest):
        raise ManifestMismatch(
            f"The two indexes do not fit together: that of the target was made with {outdated}.",
            "Run `athena ingest FOLDER` with each of the two as ATHENA_STORE, and copy again.",
        )
    wanted = {info.source: info for info in source.sections.documents()}
    if not all(info.indexed_at for info in wanted.values()):
        raise StoreError("A rebuild of this index was interrupted.", "Go on with `athena ingest FOLDER`.")
    with target.writing(manifest) as writing:
        present = {info.source: info for info in target.sections.documents()}
        others = sorted(name for name, info in present.items() if not _same(wanted.get(name), info))
        if others and not force:
            raise StoreError(
                f"The target has {len(others):,} documents that this index does not have: {others[0]} …",
                "With --force the copy takes the place of those of the same name, and the others stay.",
            )
        missing = [info for name, info in wanted.items() if not _same(present.get(name), info)]
        for done, info in enumerate(missing, start=1):
            writing.replace(_whole(source, info))
            report("Documents", done, len(missing))
    return len(missing)


def copy_conversations(source: Conversations, target: Conversations, *, report: Report) -> int:
    """Copy the conversations that the target lacks or has less of, and return how many."""
    present = {info.id: (info.updated_at, info.turns) for info in target.list()}
    missing = [
        info for info in source.list() if present.get(info.id, (0.0, -1)) < (info.updated_at, info.turns)
    ]
    for done, info in enumerate(reversed(missing), start=1):
        target.restore(source.get(info.id))
        report("Conversations", done, len(missing))
    return len(missing)


def copy_memories(source: Memories, target: Memories, *, report: Report) -> int:
    """Copy the memories of users about whom the target has none, and return how many users."""
    missing = [user for user in source.users() if not target.load(user).version]
    for done, user in enumerate(missing, start=1):
        rows = source.load(user)
        changes = MemoryChanges(
            memories=rows.memories,
            entities=rows.entities,
            mentions=rows.mentions,
            relations=rows.relations,
        )
        target.apply(user, changes, expected=0)
        report("Users", done, len(missing))
    return len(missing)


def _same(one: DocumentInfo | None, other: DocumentInfo) -> bool:
    return one is not None and one.indexed_at > 0 and (one.hash, one.root) == (other.hash, other.root)


def _whole(store: DocumentStore, info: DocumentInfo) -> NewDocument:
    """A stored document as it goes into another store."""
    stored = store.sections.document(info.source)
    by_section = sentences_by_section(store.sections, [section.node_id for section in stored.sections])
    sentences = [sentence for section in stored.sections for sentence in by_section.get(section.node_id, ())]
    return NewDocument(
        id=info.id, source=info.source, root=info.root, title=info.title, hash=info.hash, text=stored.text,
        sections=stored.sections, sentences=sentences,
        vectors=store.sentences.vectors([node.node_id for node in (*stored.sections, *sentences)]),
    )  # fmt: skip
