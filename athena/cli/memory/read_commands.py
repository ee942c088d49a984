"""What is remembered, seen: `list`, `search`, `history`, `stats`."""

from __future__ import annotations

from typing import Annotated

import typer

from athena.cli.memory.options import AsOf, History, KnownAt, memory_of, moments, some
from athena.cli.memory.texts import events_text, found_text, memories_text, stats_text
from athena.cli.options import AsJson, DataDir, User
from athena.cli.running import show


def list_(
    as_of: AsOf = None,
    known_at: KnownAt = None,
    history: History = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List what is remembered, the pinned first, then the latest."""
    from memory.shapes import memory_shape

    with memory_of(user, data_dir) as memory:
        kept = memory.list(**moments(as_of, known_at), history=history)
        show(as_json, [memory_shape(item) for item in kept], lambda: memories_text(kept))


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option(min=1, help="Most memories to show.")] = 10,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    history: History = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Search what is remembered, by recency, importance and relevance."""
    from memory.shapes import found_shape

    some(query, "search for")
    with memory_of(user, data_dir) as memory:
        found = memory.search(query, limit=limit, **moments(as_of, known_at), history=history)
        show(as_json, [found_shape(item) for item in found], lambda: found_text(found))


def history(
    memory_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Of one memory only.")] = None,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show what was done to memories and when; never what a forgotten one said."""
    from memory.shapes import event_shape

    with memory_of(user, data_dir) as memory:
        events = memory.history(memory_id or "")
        show(
            as_json,
            [event_shape(event) for event in events],
            lambda: events_text(events, memory_id=memory_id or ""),
        )


def stats(user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Count what is remembered."""
    with memory_of(user, data_dir) as memory:
        counts = memory.stats()
        show(as_json, counts, lambda: stats_text(counts))
