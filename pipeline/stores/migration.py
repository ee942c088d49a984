"""An index, conversations, memories and keys copied from one store into another, vectors and all.

Nothing is embedded again.

What is there already is left alone: the next copy goes on where one was broken off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pipeline.errors import ManifestMismatch, StoreError
from pipeline.stores.base import DocumentInfo, DocumentStore, NewDocument
from pipeline.stores.manifest import why_outdated
from pipeline.stores.memories import Entity, MemoryChanges, Mention, Relation

if TYPE_CHECKING:
    from pipeline.stores.conversations import ConversationInfo, Conversations
    from pipeline.stores.keys import Keys
    from pipeline.stores.memories import Memories, MemoryEvent

Row = TypeVar("Row", Entity, Mention, Relation)
Said = TypeVar("Said", Mention, Relation)
Report = Callable[[str, int, int], None]  # what, done, total


@dataclass(frozen=True, slots=True)
class Migration:
    """What was copied, and what was there before."""

    documents: int
    conversations: int
    documents_unchanged: int
    conversations_unchanged: int
    memories: int = 0
    memories_unchanged: int = 0
    keys: int = 0
    keys_unchanged: int = 0


def migrate(
    source: DocumentStore,
    target: DocumentStore,
    *,
    conversations: tuple[Conversations, Conversations],
    memories: tuple[Memories, Memories],
    keys: tuple[Keys, Keys],
    force: bool = False,
    report: Report | None = None,
) -> Migration:
    """Copy documents, then all that is kept beside them (pairs: from, to), into a store that may have some.

    Only `force` writes over documents of the target that read otherwise; nothing is deleted, on either side:
    what was forgotten in one store alone stays in the other, and what the target forgot does not come back.
    So it is with keys that were revoked; of two keys with one name, the target's stays.

    Raises:
        StoreError: nothing to copy, or the target has other documents and `force` is not given.
        ManifestMismatch: the target was made with another embedding model, model file, recipe or splitter.
    """
    report = report or (lambda _what, _done, _total: None)
    copied, kept = _copy_documents(source, target, force=force, report=report)
    moved, known = _copy_conversations(*conversations, report=report)
    remembered, left = _copy_memories(*memories, report=report)
    return Migration(copied, moved, kept, known, remembered, left, *_copy_keys(*keys))


def _copy_documents(
    source: DocumentStore, target: DocumentStore, *, force: bool, report: Report
) -> tuple[int, int]:
    manifest = source.sections.manifest()
    wanted = source.sections.documents()
    if manifest is None or not wanted:
        raise StoreError("There is no index to copy.", "Make one with `athena ingest FOLDER`.")
    if outdated := why_outdated(target.sections.manifest(), manifest):
        raise ManifestMismatch(
            f"The two indexes do not fit together: that of the target was made with {outdated}.",
            "Run `athena ingest FOLDER` with each of the two as ATHENA_STORE, and copy again.",
        )
    with target.writing(manifest) as writing:
        present = {info.source: info for info in writing.documents()}
        if not force:
            _refuse_others(present, {info.source: info for info in wanted})
        missing = [info for info in wanted if not _same(present.get(info.source), info)]
        report("Documents", 0, len(missing))
        for done, info in enumerate(missing, start=1):
            writing.replace(_whole(source, info))
            report("Documents", done, len(missing))
    return len(missing), len(wanted) - len(missing)


def _refuse_others(present: Mapping[str, DocumentInfo], wanted: Mapping[str, DocumentInfo]) -> None:
    others = sorted(name for name, info in present.items() if not _same(wanted.get(name), info))
    if others:
        named = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
        raise StoreError(
            f"The target has {len(others):,} documents that are not those of this index: {named}.",
            "With --force the copy takes the place of those of the same name, and the others stay.",
        )


def _same(one: DocumentInfo | None, other: DocumentInfo) -> bool:
    return one is not None and (one.hash, one.root) == (other.hash, other.root)


def _whole(store: DocumentStore, info: DocumentInfo) -> NewDocument:
    """A stored document as it goes into another store."""
    stored = store.sections.document(info.source)
    by_section = store.sentences.of_sections([section.node_id for section in stored.sections])
    sentences = [sentence for section in stored.sections for sentence in by_section.get(section.node_id, ())]
    ids = [node.node_id for node in (*stored.sections, *sentences)]
    vectors = store.sentences.vectors(ids)
    if lacking := len(ids) - len(vectors):
        raise StoreError(
            f"'{info.source}' lacks {lacking} vectors in the index that is copied.",
            "Run `athena repair`, then `athena ingest`, and copy again.",
        )
    return NewDocument(
        id=info.id,
        source=info.source,
        root=info.root,
        title=info.title,
        hash=info.hash,
        text=stored.text,
        sections=stored.sections,
        sentences=sentences,
        vectors=vectors,
    )


def _copy_conversations(source: Conversations, target: Conversations, *, report: Report) -> tuple[int, int]:
    present = {info.id: info for info in target.list()}
    wanted = source.list()
    missing = [info for info in wanted if _older(present.get(info.id), info)]
    report("Conversations", 0, len(missing))
    for done, info in enumerate(reversed(missing), start=1):
        target.restore(source.get(info.id))
        report("Conversations", done, len(missing))
    return len(missing), len(wanted) - len(missing)


def _older(there: ConversationInfo | None, info: ConversationInfo) -> bool:
    """True where the target does not have it, or has less of it; one that went on there is left alone."""
    return there is None or (there.updated_at, there.turns) < (info.updated_at, info.turns)


def _copy_keys(source: Keys, target: Keys) -> tuple[int, int]:
    """Copy keys with the hashes by which they are checked: what their owners send opens both stores."""
    wanted, present = source.list(), target.list()
    known = {*target.revoked(), *(key.id for key in present)}
    names = {key.name for key in present}
    missing = [key for key in wanted if key.id not in known and key.name not in names]
    for key in missing:
        target.add(key)
    return len(missing), len(wanted) - len(missing)


def _copy_memories(source: Memories, target: Memories, *, report: Report) -> tuple[int, int]:
    """Copy each user's rows in one write; of a memory that both have, the one that was changed last stays."""
    copied = unchanged = 0
    users = source.users()
    report("Users", 0, len(users))
    for done, user in enumerate(users, start=1):
        changes, version = _missing(source, target, user)
        if changes:
            target.apply(user, changes, expected=version)
        copied += len(changes.memories)
        unchanged += len(source.load(user).memories) - len(changes.memories)
        report("Users", done, len(users))
    return copied, unchanged


def _missing(source: Memories, target: Memories, user: str) -> tuple[MemoryChanges, int]:
    """What the target lacks of a user, and the version of the target that lacks it."""
    wanted, there = source.load(user), target.load(user)
    here, known = source.events(user), target.events(user)
    known_ids = {event.id for event in known}
    changed, changed_there = _last_changes(here), _last_changes(known)
    forgotten = {event.memory_id for event in known if event.action == "DELETE"}
    present = {row.id: row for row in there.memories}
    newer = [
        row
        for row in wanted.memories
        if (row.id not in present and row.id not in forgotten)
        or (
            row.id in present
            and present[row.id] != row
            and changed.get(row.id, 0) > changed_there.get(row.id, 0)
        )
    ]
    taken = {row.id for row in newer}
    texts = {(row.tier, row.text) for row in there.memories if row.live and row.id not in taken}
    memories = tuple(row for row in newer if not row.live or (row.tier, row.text) not in texts)
    mentions = _of_present(_lacking(wanted.mentions, there.mentions), forgotten)
    relations = _of_present(_lacking(wanted.relations, there.relations), forgotten)
    named = {mention.entity_id for mention in mentions}
    named |= {end for relation in relations for end in (relation.subject_id, relation.object_id)}
    entities = _lacking(wanted.entities, there.entities)
    changes = MemoryChanges(
        memories=memories,
        entities=tuple(entity for entity in entities if not forgotten or entity.id in named),
        mentions=mentions,
        relations=relations,
        events=tuple(event for event in here if event.id not in known_ids),
    )
    return changes, there.version


def _last_changes(events: Iterable[MemoryEvent]) -> dict[str, float]:
    """When each memory was changed last."""
    return {event.memory_id: event.at for event in sorted(events, key=lambda event: event.at)}


def _lacking(wanted: Iterable[Row], there: Iterable[Row]) -> tuple[Row, ...]:
    known = {row.id for row in there}
    return tuple(row for row in wanted if row.id not in known)


def _of_present(rows: Iterable[Said], forgotten: set[str]) -> tuple[Said, ...]:
    return tuple(row for row in rows if row.memory_id not in forgotten)
