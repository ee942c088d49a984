"""Documents in the graph: what they name and how that relates, each read again only where it has changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from memory.deciding.forgetting import unnamed
from memory.deciding.naming import mark_of, named_by_document, of_document
from pipeline.stores.globs import as_globs, matches
from pipeline.stores.memories import MemoryChanges

if TYPE_CHECKING:
    from memory.recalling.user_index import UserIndex
    from memory.user_memory import UserMemory

Tell = Callable[[int, int, str], None]
"""Hears how many of how many documents were read, and which one comes next."""


def read_documents(
    user: UserMemory, *, tell: Tell = lambda *_: None, should_stop: Callable[[], bool] = lambda: False
) -> None:
    """Bring the graph up to date with the documents that the settings name for it.

    Each is one write: what was read before a stop stays, and the next call goes on.
    """
    globs = as_globs(glob.strip() for glob in user.options.memory_documents.split(",")) or ()
    if not user.preset.documents or user.documents is None:
        return
    known = user.documents.hashes() if globs else {}
    hashes = {source: read for source, read in known.items() if matches(source, globs)}
    index = user.index
    with index.lock:
        gone = {item.source for item in index.mentions.values() if item.source} - hashes.keys()
        changed = [
            source for source, read in hashes.items() if mark_of(index, source, read) not in index.mentions
        ]
    for source in sorted(gone):
        user.indexes.change(user.user, partial(_left, source=source))
    for number, source in enumerate(changed):
        if should_stop():
            return
        tell(number, len(changed), source)
        text = user.documents.text(source) or ""
        user.indexes.change(
            user.user,
            partial(named_by_document, source=source, text=text, file_hash=hashes[source], at=user.clock()),
        )
    if changed:
        tell(len(changed), len(changed), "")


def _left(index: UserIndex, *, source: str) -> MemoryChanges:
    gone = of_document(index, source)
    return MemoryChanges(removed=tuple(sorted(gone | unnamed(index, without=gone))))
