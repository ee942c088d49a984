"""Reading: what comes to mind for a message, by recency, importance and relevance.

static memory first; then vectors ∪ keywords ∪ graph → seen at that moment → scored → budget
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from memory.options import MemoryOptions, Preset
from memory.reading.entities import entities_in, normalised
from memory.recalling.graph import Neighbourhood, neighbourhood
from memory.times import Moment
from pipeline.analysis import analyse
from pipeline.answering.recollection import Recalled

if TYPE_CHECKING:
    from memory.recalling.user_index import UserIndex
    from pipeline.models.base import Encoder
    from pipeline.stores.memories import Memory

DECAY = 0.995  # of recency, an hour
HOUR_S = 3600.0
CANDIDATES = 50  # that are looked at for having all words of a query
CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemory:
    """One memory that was found, with what its score is made of."""

    memory: Memory
    score: float
    recency: float
    relevance: float

    @property
    def recalled(self) -> Recalled:
        """The same as the chat knows it."""
        return Recalled(
            id=self.memory.id,
            text=self.memory.text,
            score=self.score,
            recency=self.recency,
            importance=self.memory.importance,
            relevance=self.relevance,
            disputed=bool(self.memory.disputed),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one reading found, best first, and of how many memories."""

    found: tuple[FoundMemory, ...] = ()
    around: Neighbourhood = field(default_factory=Neighbourhood)
    considered: int = 0


def search(
    index: UserIndex,
    query: str,
    *,
    encoder: Encoder,
    options: MemoryOptions,
    moment: Moment,
    threshold: float,
    depth: int = 0,
    words_suffice: bool = False,
) -> Reading:
    """The memories that are about a query, best first: those at least `threshold` relevant.

    `depth` > 0 also looks around the entities that the query names; a memory that names one of them is
    relevant enough. Where `words_suffice`, so is one with all the query's words.
    """
    vector, terms = encoder.encode_query(query), set(analyse(query))
    with index.lock:
        memories, around = [*index.memories.values()], Neighbourhood()
        if depth:
            around = neighbourhood(index, named_in(index, query), depth=depth)
        nearness = index.texts.similarities(vector)
        relevance = {row: float(nearness[row]) for row in np.flatnonzero(nearness >= threshold).tolist()}
        direct = frozenset(around.direct)
        enough = [row for row, memory in enumerate(memories) if memory.id in direct]
        if words_suffice and terms:
            worded = np.argsort(-index.texts.scores(terms), kind="stable")[:CANDIDATES].tolist()
            enough += [row for row in worded if terms <= index.texts.terms_of(row)]
        for row in enough:
            relevance.setdefault(row, threshold)
    found = [
        weighed(memories[row], share, options=options, now=moment.now)
        for row, share in relevance.items()
        if moment.sees(memories[row])
    ]
    found.sort(key=lambda item: (-item.score, item.memory.created_at, item.memory.id))
    return Reading(found=tuple(found), around=around, considered=len(memories))


def named_in(index: UserIndex, text: str) -> list[str]:
    """The ids of the known entities that a text names: as the rules find them, or by their exact words."""
    names = [entity.normalised for entity in entities_in(text)]
    words = normalised(text).replace("?", " ").replace(",", " ").replace("!", " ").split()
    longest = 4
    for size in range(longest, 0, -1):
        names += [" ".join(words[start : start + size]) for start in range(len(words) - size + 1)]
    found = (index.entity_named(name) for name in names)
    return list(dict.fromkeys(entity.id for entity in found if entity))


def weighed(memory: Memory, relevance: float, *, options: MemoryOptions, now: float) -> FoundMemory:
    """A memory with its score: relevance alone where it has no importance.

    Recency is 1 in the first hour after it was used, then .995 for each hour.
    """
    used = memory.created_at if memory.accessed_at is None else memory.accessed_at
    recency = DECAY**hours if (hours := (now - used) / HOUR_S) > 1 else 1.0
    score = options.memory_relevance_weight * relevance
    if memory.importance is not None:
        score += options.memory_recency_weight * recency
        score += options.memory_importance_weight * memory.importance
    return FoundMemory(memory=memory, score=score, recency=recency, relevance=relevance)


def recallable(found: Sequence[FoundMemory], preset: Preset) -> list[FoundMemory]:
    """What may go into a prompt, in the preset's order: no instructions, nothing stale, important enough.

    What the preset asks of the score comes on top of the relevance that all of `found` have.

    The sides of a dispute come together, or not at all.
    """
    kept = [
        item
        for item in found
        if item.memory.trusted
        and not item.memory.stale
        and item.score >= preset.least_score
        and (item.memory.importance is None or item.memory.importance >= preset.least_importance)
    ]
    order = ("static", "short_term", "long_term") if preset.tier == "short_term" else ("static",)
    kept.sort(key=lambda item: order.index(item.memory.tier) if item.memory.tier in order else len(order))
    return kept[: preset.most]


def within(texts: Sequence[str], *, tokens: int) -> int:
    """How many of the texts, from the first on, fit the budget; a token is taken for four characters."""
    left = tokens * CHARACTERS_A_TOKEN
    for number, text in enumerate(texts):
        left -= len(text) + CHARACTERS_A_TOKEN
        if left < 0:
            return number
    return len(texts)
