"""Recall of memories: candidates by vector, words and graph, scored by recency, importance and relevance."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from memory.graph import Neighbourhood, neighbourhood
from memory.options import MemoryOptions, Preset
from pipeline.analysis import content_terms
from pipeline.answering.recollection import Recalled
from pipeline.models.tokens import count_tokens
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.index import MemoryParts, UserIndex
    from pipeline.stores.memories import Memory

DECAY = 0.995  # factor of recency per hour
RECENCY, IMPORTANCE = 0.25, 0.25  # weights in the score of a memory; relevance has 1.0
HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemory:
    """A memory, and its text and scores in the form that the chat uses."""

    memory: Memory
    recalled: Recalled


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of one search: memories, best first, and the graph around the query's entities."""

    found: tuple[FoundMemory, ...] = ()
    around: Neighbourhood = field(default_factory=Neighbourhood)
    considered: int = 0  # number of memories searched


def search(
    user: MemoryParts,
    query: str,
    *,
    keep: Callable[[Memory], bool],
    threshold: float | None = None,
    depth: int = 0,
) -> Reading:
    """Return the memories with a cosine of at least `threshold` or all content words of a query, best first.

    With a `depth` above 0, memories that name an entity of the query are found, too, and the graph is read to
    that depth. Memories for which `keep` is false are left out. Without a `threshold`, the user's applies.
    """
    query, index, options, now = well_formed(query), user.index, user.options, user.clock()
    threshold = user.threshold if threshold is None else threshold
    vector, terms = user.indexes.encoder.encode_query(query), set(content_terms(query))
    with index.lock:
        memories, around = [*index.memories.values()], Neighbourhood()
        if depth:
            around = neighbourhood(index, named_in(index, query), depth=depth)
        nearness = index.texts.similarities(vector)
        relevance = {row: float(nearness[row]) for row in np.flatnonzero(nearness >= threshold).tolist()}
        for row, memory in enumerate(memories):
            if memory.id in around.direct or (terms and terms <= index.texts.terms[row]):
                relevance.setdefault(row, threshold)
    found = [
        weighed(memories[row], cosine, options=options, now=now)
        for row, cosine in relevance.items()
        if keep(memories[row])
    ]
    found.sort(key=lambda item: (-item.recalled.score, -item.memory.created_at, item.memory.id))
    return Reading(found=tuple(found), around=around, considered=len(memories))


def named_in(index: UserIndex, text: str) -> list[str]:
    """Return the ids of the known entities whose names occur in a text."""
    plain = re.sub(r"['’]s\b|[.?!](?=\s|$)|[^\w.'’-]", " ", text.casefold())
    words = f" {' '.join(plain.split())} "
    return [entity for name, entity in index.names.items() if f" {name} " in words]


def weighed(memory: Memory, cosine: float, *, options: MemoryOptions, now: float) -> FoundMemory:
    """Return a memory with its score, the weighted sum of recency, importance and relevance.

    `memory_relevance` chooses the cosine, or 1/(1+d) with the distance d of the unit vectors. A memory
    without importance scores by relevance alone. `now` is in seconds since the epoch.
    """
    hours = max(0.0, now - (memory.accessed_at or memory.created_at)) / HOUR_S
    recency = 1.0 if hours <= 1 else DECAY**hours
    relevance = cosine
    if options.memory_relevance == "distance":
        relevance = 1 / (1 + max(0.0, 2 - 2 * cosine) ** 0.5)
    score = relevance
    if memory.importance is not None:
        score = RECENCY * recency + IMPORTANCE * memory.importance + relevance
    recalled = Recalled(id=memory.id, text=memory.text, score=score, recency=recency, relevance=cosine)
    return FoundMemory(memory=memory, recalled=recalled)


def recallable(found: Sequence[FoundMemory], preset: Preset) -> Sequence[FoundMemory]:
    """Return the found memories that a preset recalls: trusted, important enough, at most `preset.most`.

    A preset with short-term memory takes short-term memories before long-term ones.
    """
    kept = [
        item
        for item in found
        if item.memory.trusted
        and (item.memory.importance is None or item.memory.importance >= preset.least_importance)
    ]
    if preset.tier == "short_term":
        kept.sort(key=lambda item: item.memory.tier == "long_term")
    return kept[: preset.most]


def within(texts: Sequence[str], *, tokens: int) -> int:
    """Return how many of the texts, from the first on, fit a budget of tokens."""
    totals = accumulate(count_tokens(text) + 1 for text in texts)
    return sum(total <= tokens for total in totals)
