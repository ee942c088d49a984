"""Memories, counts and events as a terminal shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.running import out

if TYPE_CHECKING:
    from memory.deciding.forgetting import Forgetting
    from memory.recalling.graph import Known
    from memory.recalling.recall import FoundMemory
    from memory.recalling.turn_index import FoundTurn, Turn
    from pipeline.steps.records import Step
    from pipeline.stores.memories import Entity, Memory, MemoryEvent, Mention


LINE = 160
"""Characters of a memory in a list; `--json` has all of them."""


def memories_text(
    memories: Sequence[Memory], *, nothing: str = "Nothing is remembered.", whole: bool = False
) -> RenderableType:
    """Memories as lines: how it begins, or the `whole`, since when, and what is to be known of it."""
    if not memories:
        return Text(nothing, style="dim")
    table = _table("id", "memory", "since", "")
    for memory in memories:
        said = memory.text if whole else _line(memory.text)
        table.add_row(memory.id[:8], Text(said), _day(memory), Text(", ".join(_notes(memory)), "dim"))
    return table


def found_text(found: Sequence[FoundMemory], said: Sequence[FoundTurn]) -> RenderableType:
    """Facts and messages that were found."""
    if not (found or said):
        return Text("Nothing is remembered about that.", style="dim")
    parts = [
        *([_facts(found)] if found else []),
        *([said_text([item.turn for item in said])] if said else []),
    ]
    return Group(*parts)


def said_text(turns: Sequence[Turn]) -> RenderableType:
    """Messages and answers as lines: the day, who said it, and how it begins."""
    from memory.times import local_day

    table = _table("said", "by", "message")
    for turn in turns:
        table.add_row(local_day(turn.at), Text(turn.who), Text(_line(turn.text)))
    return table


def stream_text(found: Sequence[tuple[Mention, Entity]]) -> RenderableType:
    """Who and what was spoken of, a line each."""
    from memory.times import local

    if not found:
        return Text("Nobody and nothing was spoken of yet.", style="dim")
    table = _table("at", "name", "type")
    for mention, entity in found:
        at = f"{local(mention.at):%Y-%m-%d %H:%M}"
        table.add_row(at, Text(entity.name), Text(entity.type, "dim"))
    return table


def entities_text(found: Sequence[Known]) -> RenderableType:
    """Whom and what was spoken of, how often, and when last."""
    from memory.times import local_day

    if not found:
        return Text("Nobody and nothing was spoken of yet.", style="dim")
    table = _table("name", "type", "times", "last")
    for known in found:
        entity = known.entity
        table.add_row(
            Text(entity.name), Text(entity.type, "dim"), str(known.mentions), local_day(known.last_at)
        )
    return table


def _facts(found: Sequence[FoundMemory]) -> RenderableType:
    table = _table("score", "relevance", "id", "memory", "")
    for item in found:
        notes = Text(", ".join(_notes(item.memory)), "dim")
        scores = f"{item.score:.2f}", f"{item.relevance:.2f}"
        table.add_row(*scores, item.memory.id[:8], Text(_line(item.memory.text)), notes)
    return table


def added_text(step: Step, kept: Sequence[Memory], *, sides: Sequence[Memory] = ()) -> RenderableType:
    """What was kept, and what that changed; `sides` of a dispute with what was known are to be decided."""
    if not step.data.get("added"):
        return Text(f"Known already: {kept[0].text}" if kept else "Nothing to remember.")
    lines = [f"Remembered: {memory.text}" for memory in kept]
    if step.data["replaced"]:
        lines.append("It takes the place of what contradicted it; `athena memory list --history` has both.")
    if sides:
        lines.append("It contradicts what was known. Say which is right, or `--both`:")
        lines += [f"  athena memory resolve {side.id[:8]}  ({_line(side.text)})" for side in sides]
    if step.data["untrusted"]:
        lines.append("It reads like an instruction: kept, and never acted on.")
    return Text("\n".join(lines))


def would_forget_text(forgotten: Forgetting) -> RenderableType:
    """What would be forgotten, and how to go on."""
    if not forgotten:
        return Text("There is nothing to forget.", style="dim")
    if forgotten.memories:
        out.print(memories_text(forgotten.memories))
    if forgotten.turns:
        out.print(said_text(forgotten.turns))
        out.print(
            "Messages are deleted with their answers; --keep-words leaves them to read, and not found again."
        )
    if forgotten.damaged:
        out.print(f"damaged, and not to be read: {', '.join(forgotten.damaged)}")
    return Text("Nothing is forgotten yet: add --yes.", style="yellow")


def events_text(events: Sequence[MemoryEvent], *, memory_id: str = "") -> RenderableType:
    """What was done and when: to all, or to one memory."""
    from memory.times import local

    if not events:
        return Text("Nothing was done yet.", style="dim")
    table = _table("at", "", "id", "other")
    for event in events:
        table.add_row(
            f"{local(event.at):%Y-%m-%d %H:%M:%S}",
            event.action.lower(),
            event.memory_id[:8],
            event.other_id[:8],
        )
    if memory_id and events[-1].action == "DELETE":
        return Group(table, Text("It was forgotten: what it said is gone.", style="dim"))
    return table


def stats_text(counts: Any) -> RenderableType:
    """Counts, a line each."""
    table = _table("", "")
    for name, value in counts.items():
        text = (
            ", ".join(f"{key} {count}" for key, count in value.items()) if isinstance(value, dict) else value
        )
        table.add_row(name.replace("_", " "), str(text))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE, show_header=any(columns))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE else f"{line[: LINE - 1].rstrip()}…"


def _day(memory: Memory) -> str:
    from memory.times import begun, local_day

    since, until = begun(memory), memory.invalid_at
    if not since or until is None:
        return local_day(since) if since else f"until {local_day(until or 0)}"
    return f"{local_day(since)} to {local_day(until)}"


def _notes(memory: Memory) -> list[str]:
    notes = {
        memory.tier.replace("_", "-"): memory.tier != "long_term",
        memory.kind: memory.kind != "fact",
        "pinned": memory.pinned,
        "disputed": bool(memory.disputed),
        "stale": memory.stale,
        "not trusted": not memory.trusted,
    }
    return [name for name, holds in notes.items() if holds]
