"""What was read lately: a version never changes, so what is kept of a visible one is current."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import LRUCache

from pipeline.stores.server.mongo import Document
from pipeline.stores.server.queries import Fetched

MAX_CHARACTERS = 32_000_000  # of all sections: 40 to 130 MB; most collections of documents are smaller
MAX_LEAVES = 20_000  # some 60 MB, most of it vectors

Record = TypeVar("Record")


class _Kept(LRUCache[str, Record]):
    """The records that were used last, up to a size together; tells of each that is not kept any more."""

    def __init__(
        self, max_size: int, *, size_of: Callable[[Record], int], on_drop: Callable[[Record], object]
    ) -> None:
        super().__init__(max_size, getsizeof=size_of)
        self._on_drop = on_drop

    def __delitem__(self, key: str) -> None:
        self._on_drop(self[key])
        super().__delitem__(key)


class VersionCache(Generic[Record]):
    """Records by key, the least recently used dropped first; safe to use from several threads."""

    def __init__(
        self,
        *,
        version_of: Callable[[Record], str],
        size_of: Callable[[Record], int],
        max_size: int,
        on_drop: Callable[[Record], object] = lambda _: None,
    ) -> None:
        self._version_of = version_of
        self._records = _Kept(max_size, size_of=size_of, on_drop=on_drop)
        self._lock = threading.Lock()

    def get_many(self, keys: Iterable[str], versions: Collection[str]) -> dict[str, Record]:
        """Those that are kept, of one of the versions."""
        found: dict[str, Record] = {}
        with self._lock:
            for key in keys:
                if key in self._records and self._version_of(record := self._records[key]) in versions:
                    found[key] = record
        return found

    def put(self, records: Mapping[str, Record]) -> None:
        """Keep some more, in the place of those with their keys; not one that is too large alone."""
        with self._lock:
            for key, record in records.items():
                self._records.pop(key, None)
                with suppress(ValueError):  # too large
                    self._records[key] = record


def section_cache(max_characters: int = MAX_CHARACTERS) -> VersionCache[Document]:
    """Records of sections by id."""
    return VersionCache(
        version_of=lambda record: str(record["version"]), size_of=_characters, max_size=max_characters
    )


@dataclass(frozen=True, slots=True)
class Leaves:
    """All leaves of one section, in reading order, by id."""

    version: str
    by_id: Mapping[str, Fetched]


class LeafCache:
    """Leaves with their vectors, of whole sections; safe to use from several threads."""

    def __init__(self, max_leaves: int = MAX_LEAVES) -> None:
        self._sections: VersionCache[Leaves] = VersionCache(
            version_of=lambda leaves: leaves.version,
            size_of=lambda leaves: len(leaves.by_id),
            max_size=max_leaves,
            on_drop=self._forget,
        )
        self._section_of: dict[str, str] = {}

    def of_sections(self, section_ids: Iterable[str], versions: Collection[str]) -> dict[str, Leaves]:
        """Those of the sections that are kept, of one of the versions."""
        return self._sections.get_many(section_ids, versions)

    def get_many(self, node_ids: Collection[str], versions: Collection[str]) -> dict[str, Fetched]:
        """Leaves by id, where their section is kept."""
        section_of = {node_id: self._section_of.get(node_id, "") for node_id in node_ids}
        kept = self._sections.get_many(set(section_of.values()), versions)
        return {
            node_id: kept[section].by_id[node_id]
            for node_id, section in section_of.items()
            if section in kept and node_id in kept[section].by_id
        }

    def put(self, sections: Mapping[str, Leaves]) -> None:
        """Keep some more, by section."""
        self._sections.put(sections)
        for section_id, leaves in sections.items():
            self._section_of.update(dict.fromkeys(leaves.by_id, section_id))

    def _forget(self, leaves: Leaves) -> None:
        for node_id in leaves.by_id:
            self._section_of.pop(node_id, None)


def _characters(record: Document) -> int:
    return len(record["text"]) + len(record["metadata"]) + sum(map(len, record["children"]))
