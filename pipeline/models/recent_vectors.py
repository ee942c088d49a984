"""The vectors of texts that were embedded just now: the sentences of an answer are compared several times."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from cachetools import LRUCache

from pipeline.models.base import Encoder
from pipeline.stores.base import Vector

KEPT_TEXTS = 2000  # of each encoder, the last ones: 4 MB with 384 dimensions


class RecentVectors:
    """The vectors of the texts that were used last; safe to use from several threads."""

    def __init__(self, kept_texts: int = KEPT_TEXTS) -> None:
        self._vectors: LRUCache[str, Vector] = LRUCache(kept_texts)
        self._lock = threading.Lock()

    def of(self, texts: Sequence[str], *, encoder: Encoder) -> list[Vector]:
        """The vectors of some texts; those that are not kept are embedded together, each once."""
        known = self._known(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            embedded = dict(zip(missing, encoder.encode_passages(missing), strict=True))
            self._keep(embedded)
            known |= embedded
        return [known[text] for text in texts]

    def _known(self, texts: Iterable[str]) -> dict[str, Vector]:
        with self._lock:
            return {text: self._vectors[text] for text in texts if text in self._vectors}

    def _keep(self, vectors: dict[str, Vector]) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._vectors[text] = vector.copy()  # a row alone: it would hold the whole matrix


_lock = threading.Lock()
_recent: WeakKeyDictionary[Encoder, RecentVectors] = WeakKeyDictionary()


def passage_vectors(texts: Sequence[str], *, encoder: Encoder) -> list[Vector]:
    """The vectors of some texts as passages, from memory where they were embedded a short while ago."""
    with _lock:
        recent = _recent.setdefault(encoder, RecentVectors())
    return recent.of(texts, encoder=encoder)
