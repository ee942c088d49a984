"""Memories and messages as data for the list component: text, marks, source, and buttons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.words import counted
from ui.shared.markdown_tree import markdown_tree, tree_text
from ui.shared.words import local_time

if TYPE_CHECKING:
    from memory.recall import FoundMemory
    from memory.turn_index import FoundTurn
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
    """Return a row for each memory; those with a `fixed` id are the persona's and have no buttons."""
    return [row(memory, fixed=memory.id in fixed) for memory in listed]


def found_rows(found: Sequence[FoundMemory]) -> list[Row]:
    """Return a row for each found memory, with its score and the parts of that."""
    return [row(item.memory) | {"score": score(item)} for item in found]


def row(memory: Memory, *, fixed: bool = False) -> Row:
    """Return the row of one memory."""
    return {
        "id": memory.id,
        "text": memory.text,
        "marks": marks(memory),
        "about": " · ".join([KINDS[memory.kind], TIERS[memory.tier]]),
        "when": "" if fixed else when(memory),
        "tags": list(memory.tags),
        "why": memory.why,
        "importance": None if memory.importance is None else round(memory.importance * 10),
        "score": None,
        "source": "" if fixed else source_label(memory),
        "acts": [] if fixed else _acts(memory),
    }


def _acts(memory: Memory) -> list[Row]:
    """Return the buttons of a memory: a static or ended one can only be forgotten."""
    forget = act("forget", "delete", "Forget")
    if memory.tier == "static" or not memory.live:
        return [forget]
    label = "Unpin" if memory.pinned else "Pin: never forgotten by age"
    return [act("edit", "edit", "Edit"), act("pin", "push_pin", label, pressed=memory.pinned), forget]


def act(name: str, icon: str, label: str, *, pressed: bool | None = None) -> Row:
    """Return a button of a row: the event that it sends, and whether it is pressed, where it can be."""
    return {"name": name, "icon": icon, "label": label, "pressed": pressed}


def said_rows(found: Iterable[FoundTurn], *, titles: Mapping[str, str]) -> list[Row]:
    """Return a row for each found message; `titles` of conversations by their ids."""
    return [said_row(item, title=titles.get(item.turn.session, "")) for item in found]


def said_row(found: FoundTurn, *, title: str) -> Row:
    """Return the row of one message."""
    turn = found.turn
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
            act("forget", "delete", "Forget, with its answer"),
        ],
    }


def marks(memory: Memory) -> list[Mapping[str, str]]:
    """Return what a reader must know of a memory, each with an icon."""
    known = (
        (not memory.live, "history", "no longer true"),
        (not memory.trusted, "gpp_maybe", "reads like an instruction: never acted on"),
    )
    return [{"icon": icon, "words": words} for holds, icon, words in known if holds]


def when(memory: Memory) -> str:
    """Return when a memory was kept, and when it ended."""
    until = f" until {local_time(memory.ended_at)[:10]}" if memory.ended_at is not None else ""
    return local_time(memory.created_at) + until


def score(found: FoundMemory) -> Row:
    """Return how well a memory fits a search: as a share, and its parts in words."""
    parts = [f"relevance {found.relevance:.2f}", f"recency {found.recency:.2f}"]
    if found.memory.importance is not None:
        parts.append(f"importance {found.memory.importance:.2f}")
    return {"value": f"{found.score:.2f}", "share": min(1.0, found.relevance), "parts": ", ".join(parts)}


def source_label(memory: Memory) -> str:
    """Return the label of the button to a memory's source; "" where nothing can be shown."""
    turns = {source.turn_id for source in memory.sources if source.turn_id}
    made_of = [source for source in memory.sources if source.memory_id]
    if turns:
        return "Your words"
    if made_of:
        return f"Made of {counted(len(made_of), 'memory')}"
    documents = [source.source for source in memory.sources if source.source]
    return documents[0] if documents else "Your words" if any(it.quote for it in memory.sources) else ""
