"""Sections that were read lately: a version never changes, so what is kept of a visible one is right."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping

from pipeline.stores.server.mongo import Document

MAX_CHARACTERS = 32_000_000  # of all texts: 40 to 130 MB; most collections of documents are smaller


class SectionCache:
    """Records of sections by id, the least lately used given up first; safe to use from several threads."""

    def __init__(self, max_characters: int = MAX_CHARACTERS) -> None:
        self._max_characters = max_characters
        self._characters = 0
        self._records: OrderedDict[str, Document] = OrderedDict()
        self._lock = threading.Lock()

    def get_many(self, node_ids: Iterable[str], versions: Collection[str]) -> dict[str, Document]:
        """Those that are kept, of one of the versions."""
        found: dict[str, Document] = {}
        with self._lock:
            for node_id in node_ids:
                record = self._records.get(node_id)
                if record is not None and record["version"] in versions:
                    self._records.move_to_end(node_id)
                    found[node_id] = record
        return found

    def put(self, records: Mapping[str, Document]) -> None:
        """Keep some more."""
        with self._lock:
            for node_id, record in records.items():
                former = self._records.pop(node_id, None)
                self._characters += _size(record) - (_size(former) if former else 0)
                self._records[node_id] = record
            while self._characters > self._max_characters:
                _, record = self._records.popitem(last=False)
                self._characters -= _size(record)


def _size(record: Document) -> int:
    return len(record["text"]) + len(record["metadata"]) + sum(map(len, record["children"]))
