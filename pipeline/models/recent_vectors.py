"""A cache of passage vectors: the sentences of an answer are compared several times."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from cachetools import LRUCache

from pipeline.models.base import Encoder
from pipeline.stores.base import Vector

CACHED_TEXTS = 2000  # per encoder: 4 MB with 384 dimensions

_lock = threading.Lock()
_recent: WeakKeyDictionary[Encoder, LRUCache[str, Vector]] = WeakKeyDictionary()


def passage_vectors(texts: Sequence[str], *, encoder: Encoder) -> list[Vector]:
    """Return the vectors of texts as passages; those that are not cached are embedded together, each once."""
    with _lock:
        cache = _recent.setdefault(encoder, LRUCache(CACHED_TEXTS))
        known = {text: cache[text] for text in texts if text in cache}
    if missing := [text for text in dict.fromkeys(texts) if text not in known]:
        rows = encoder.encode_passages(missing)
        known |= {text: row.copy() for text, row in zip(missing, rows, strict=True)}  # else all rows stay
        with _lock:
            cache.update((text, known[text]) for text in missing)
    return [known[text] for text in texts]
