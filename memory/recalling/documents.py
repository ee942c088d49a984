"""Memories of documents: stale once their passage changes, and good again once it is back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from memory.deciding.writing import Writing
from pipeline.stores.memories import MemoryChanges, MemorySource

if TYPE_CHECKING:
    from memory.recalling.user_index import UserIndex


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents as they are now."""

    hashes: Callable[[], Mapping[str, str]]  # by source
    text: Callable[[str], str | None]  # None where it is gone


def checked(index: UserIndex, documents: Documents, *, now: float) -> MemoryChanges:
    """The memories whose passages are gone as stale, those whose passages only moved with new places."""
    of_documents = [item for item in index.memories.values() if any(one.file_hash for one in item.sources)]
    writing = Writing(now)
    hashes, text = documents.hashes() if of_documents else {}, cache(documents.text)
    for memory in of_documents:
        found = [_found_again(source, text, hashes.get(source.source, "")) for source in memory.sources]
        stale = None in found
        places = memory.sources if stale else tuple(filter(None, found))
        after = replace(memory, stale=stale, sources=places)
        if stale != memory.stale:
            writing.write("STALE" if stale else "UPDATE", after)
        elif after != memory:
            writing.memories[memory.id] = after
    return writing.changes


def _found_again(
    source: MemorySource, text_of: Callable[[str], str | None], file_hash: str
) -> MemorySource | None:
    """The source at its place in the text as it is now; None where its words are not there any more."""
    if not source.source or not source.file_hash or source.file_hash == file_hash:
        return source
    text = text_of(source.source)
    if text is None:
        return None
    start = source.start
    if text[start : source.end] != source.quote:
        start = text.find(source.quote) if source.quote else -1
    end = start + len(source.quote)
    return None if start < 0 else replace(source, start=start, end=end, file_hash=file_hash)
