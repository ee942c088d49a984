"""Memories as data for the list: what each says, what it is, where it is from, and what can be done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory.reading.asking import asks
from memory.times import begun
from pipeline.words import counted
from ui.shared.markdown_tree import markdown_tree, tree_text
from ui.shared.words import local_time

if TYPE_CHECKING:
    from memory.recalling.recall import FoundMemory
    from memory.recalling.turn_index import FoundTurn
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
        "acts": [] if fixed else _acts(memory),
    }


def _acts(memory: Memory) -> list[Row]:
    """What can be done to a memory: what is static or over can only be forgotten."""
    forget = act("forget", "delete", "Forget")
    if memory.tier == "static" or memory.expired_at is not None:
        return [forget]
    pin = act(
        "pin", "push_pin", "Unpin" if memory.pinned else "Pin: never forgotten by age", pressed=memory.pinned
    )
    return [
        act("edit", "edit", "Edit"),
        pin,
        *([act("contradicts", "compare_arrows", "This contradicts …")] if memory.live else []),
        forget,
    ]


def act(name: str, icon: str, label: str, *, pressed: bool | None = None) -> Row:
    """A button of a row: what it sends, and whether it is pressed, where it can be."""
    return {"name": name, "icon": icon, "label": label, "pressed": pressed}


def said_rows(found: Iterable[FoundTurn], *, titles: Mapping[str, str]) -> list[Row]:
    """A row for each found turn; `titles` of conversations by their ids."""
    return [said_row(item, title=titles.get(item.turn.session, "")) for item in found]


def said_row(found: FoundTurn, *, title: str) -> Row:
    """Something that was said: its day, its conversation, its words."""
    turn = found.turn
    keep = [] if turn.role == "user" and asks(turn.text) else [act("keep", "bookmark_add", "Keep as a fact")]
    who = {"you": "you", "assistant": "the assistant"}.get(turn.who, turn.speaker)
    return {
        "id": turn.id,
        "text": tree_text(markdown_tree(turn.text)) if turn.role == "assistant" else turn.text,
        "marks": [],
        "about": " · ".join(filter(None, [who, f"in “{title}”" if title else ""])),
        "when": local_time(turn.at) if turn.at is not None else "",
        "tags": [],
        "why": "",
        "importance": None,
        "score": None,
        "source": "",
        "acts": [
            act("open", "forum", "Open the conversation"),
            *keep,
            act("forget", "delete", "Forget, with its answer"),
        ],
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
    since = begun(memory)
    until = f" until {local_time(memory.invalid_at)[:10]}" if memory.invalid_at is not None else ""
    if not since:
        return f"{until.strip()}, known {local_time(memory.created_at)[:10]}".removeprefix(", ")
    if memory.valid_at is None or local_time(since)[:10] == local_time(memory.created_at)[:10]:
        return f"{local_time(memory.created_at)}{until}"
    return f"since {local_time(since)[:10]}{until}, known {local_time(memory.created_at)[:10]}"


def score(found: FoundMemory) -> Row:
    """How well a memory fits what was searched for: as a share, and in words."""
    parts = [f"relevance {found.relevance:.2f}", f"recency {found.recency:.2f}"]
    if found.memory.importance is not None:
        parts.append(f"importance {found.memory.importance:.2f}")
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
