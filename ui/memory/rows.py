"""Memories as data for the list: what each says, what it is, where it is from, and what can be done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory.times import known_begin
from pipeline.words import counted
from ui.shared.words import local_time

if TYPE_CHECKING:
    from memory.recall import FoundMemory
    from pipeline.stores.memories import Memory

Row = dict[str, Any]

KINDS = {
    "fact": "fact",
    "qa": "question and answer",
    "observation": "observation",
    "reflection": "reflection",
    "plan": "plan",
    "summary": "summary",
}
TIERS = {"static": "static", "short_term": "short-term", "long_term": "long-term"}


def rows(listed: Iterable[Memory], *, fixed: frozenset[str] = frozenset()) -> list[Row]:
    """A row for each memory; those with a `fixed` id are the persona's, and nothing can be done to them."""
    return [row(memory, fixed=memory.id in fixed) for memory in listed]


def found_rows(found: Sequence[FoundMemory]) -> list[Row]:
    """A row for each found memory, with its score and what that is made of."""
    return [row(item.memory) | {"score": score(item)} for item in found]


def row(memory: Memory, *, fixed: bool = False) -> Row:
    """One memory."""
    static = memory.tier == "static"
    return {
        "id": memory.id,
        "text": memory.text,
        "marks": marks(memory),
        "about": " · ".join([KINDS[memory.kind], memory.category, TIERS[memory.tier]]),
        "when": "" if fixed else when(memory),
        "tags": [tag for tag in memory.tags if tag != memory.category],
        "why": memory.why,
        "importance": None if memory.importance is None else round(memory.importance * 10),
        "score": None,
        "source": "" if fixed else source_label(memory),
        "pinned": memory.pinned,
        "can_change": not static and memory.expired_at is None,
        "can_forget": not fixed,
    }


def marks(memory: Memory) -> list[Mapping[str, str]]:
    """What a reader must know of a memory, each with an icon."""
    over = memory.invalid_at is not None or memory.expired_at is not None
    known = (
        (over, "history", "no longer true"),
        (bool(memory.disputed), "help", "disputed"),
        (memory.stale, "link_off", "its document changed"),
        (not memory.trusted, "gpp_maybe", "reads like an instruction: never acted on"),
    )
    return [{"icon": icon, "words": words} for holds, icon, words in known if holds]


def when(memory: Memory) -> str:
    """Since when it is true and known."""
    begun = known_begin(memory)
    until = f" until {local_time(memory.invalid_at)[:10]}" if memory.invalid_at is not None else ""
    if begun is None:
        return f"{until.strip()}, known {local_time(memory.created_at)[:10]}".removeprefix(", ")
    if memory.valid_at is None or local_time(begun)[:10] == local_time(memory.created_at)[:10]:
        return f"{local_time(memory.created_at)}{until}"
    return f"since {local_time(begun)[:10]}{until}, known {local_time(memory.created_at)[:10]}"


def score(found: FoundMemory) -> Row:
    """How well a memory fits what was searched for: as a share, and in words."""
    parts = [f"relevance {found.relevance:.2f}", f"recency {found.recency:.2f}"]
    if found.importance is not None:
        parts.append(f"importance {found.importance:.2f}")
    return {"value": f"{found.score:.2f}", "share": min(1.0, found.relevance), "parts": ", ".join(parts)}


def source_label(memory: Memory) -> str:
    """Where a memory comes from, as the words of a button; empty where nothing can be shown."""
    turns = {source.turn_id for source in memory.sources if source.turn_id}
    documents = [source.source for source in memory.sources if source.source]
    made_of = [source for source in memory.sources if source.memory_id]
    if documents:
        return documents[0]
    if turns:
        return "Your words" if len(turns) == 1 else f"Your words, {len(turns)} times"
    if made_of:
        return f"Made of {counted(len(made_of), 'memory')}"
    return "Your words" if any(source.quote for source in memory.sources) else ""
