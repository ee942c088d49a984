"""Counts of what is kept of a user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memory import graph

if TYPE_CHECKING:
    from memory.user_memory import UserMemory


def counts(memory: UserMemory) -> Mapping[str, Any]:
    """By tier, kind and category, what is to be known of them, and the graph."""
    index = memory.index
    with index.lock:
        kept = list(index.memories.values())
        moment = memory.moment()
        live = [item for item in kept if moment.sees(item)]
        return {
            "user": memory.user,
            "preset": memory.preset.name,
            "memories": len(live),
            "history": len(kept) - len(live),
            "static": len(memory.static) + sum(item.tier == "static" for item in live),
            "by_tier": dict(Counter(item.tier for item in live)),
            "by_kind": dict(Counter(item.kind for item in live)),
            "by_category": dict(Counter(item.category for item in live)),
            "pinned": sum(item.pinned for item in live),
            "disputed": sum(bool(item.disputed) for item in live),
            "stale": sum(item.stale for item in live),
            "untrusted": sum(not item.trusted for item in live),
            "entities": len(index.entities),
            "mentions": len(index.mentions),
            "relations": len(index.relations),
            "themes": dict(graph.themes(live)),
            "threshold": memory.threshold,
        }
