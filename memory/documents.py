"""Memories of documents: stale once their passage changes, and good again once it is back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.ids import new_id
from pipeline.stores.memories import Action, Memory, MemoryChanges, MemoryEvent, MemorySource

if TYPE_CHECKING:
    from memory.index import UserIndex


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents as they are now."""

    hashes: Callable[[], Mapping[str, str]]  # by source
    text: Callable[[str], str | None]  # None where it is gone


def changed_since(memories: Iterable[Memory], hashes: Mapping[str, str]) -> list[Memory]:
    """The memories of which a document is not as it was read; the stale ones are always looked at again."""
    return [
        memory
        for memory in memories
        if any(source.source and source.file_hash for source in memory.sources)
        and (
            memory.stale
            or any(
                hashes.get(source.source) != source.file_hash
                for source in memory.sources
                if source.source and source.file_hash
            )
        )
    ]


def checked(index: UserIndex, documents: Documents, *, now: float) -> MemoryChanges:
    """The memories whose passages are gone as stale, those whose passages only moved with new places."""
    hashes = documents.hashes()
    texts: dict[str, str | None] = {}
    written, events = [], []
    for memory in changed_since(index.memories.values(), hashes):
        sources = []
        for source in memory.sources:
            if source.source and source.source not in texts:
                texts[source.source] = documents.text(source.source)
            sources.append(_found_again(source, texts.get(source.source), hashes.get(source.source, "")))
        stale = any(found is None for found in sources)
        places = memory.sources if stale else tuple(found for found in sources if found is not None)
        after = replace(memory, stale=stale, sources=places)
        if after == memory:
            continue
        written.append(after)
        if stale != memory.stale:
            action: Action = "STALE" if stale else "UPDATE"
            events.append(
                MemoryEvent(id=new_id(), user=memory.user, memory_id=memory.id, action=action, at=now)
            )
    return MemoryChanges(memories=tuple(written), events=tuple(events))


def _found_again(source: MemorySource, text: str | None, file_hash: str) -> MemorySource | None:
    """The source at its place in the text as it is now; None where its words are not there any more."""
    if not source.source or not source.file_hash or source.file_hash == file_hash:
        return source
    if text is None:
        return None
    if text[source.start : source.end] == source.quote:
        return replace(source, file_hash=file_hash)
    start = text.find(source.quote) if source.quote else -1
    if start < 0:
        return None
    return replace(source, start=start, end=start + len(source.quote), file_hash=file_hash)
