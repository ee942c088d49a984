"""What is remembered, seen: `list`, `search`, `stream`, `entities`, `history`, `stats`."""

from __future__ import annotations

from typing import Annotated

import typer

from athena.cli.memory.options import (
    AsOf,
    History,
    KnownAt,
    Limit,
    Since,
    Speaker,
    Until,
    memory_of,
    moments,
    some,
    which_of,
)
from athena.cli.memory.texts import (
    entities_text,
    events_text,
    found_text,
    memories_text,
    stats_text,
    stream_text,
)
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
    limit: Annotated[int, typer.Option(min=1, help="Most facts, and most messages, to show.")] = 10,
    since: Since = None,
    until: Until = None,
    speaker: Speaker = "",
    as_of: AsOf = None,
    known_at: KnownAt = None,
    history: History = False,
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Search the facts, by recency, importance and relevance, and what was said."""
    from memory.shapes import found_shape, turn_shape

    some(query, "search for")
    with memory_of(user, data_dir) as memory:
        which, then = which_of(since, until, speaker), moments(as_of, known_at)
        facts = memory.search(query, limit=limit, **then, history=history)
        facts = [item for item in facts if which.has_fact(item.memory)]
        said = memory.find_said(query, which=which.before(*then.values()), limit=limit)
        shapes = [*map(found_shape, facts), *map(turn_shape, said)]
        show(as_json, shapes, lambda: found_text(facts, said))


def stream(limit: Limit = 20, user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show who and what was spoken of, and when, latest first."""
    from memory.recalling import graph
    from memory.shapes import mention_shape

    with memory_of(user, data_dir) as memory:
        index = memory.index
        with index.lock:
            named = [item for item in graph.stream(index) if item.entity_id in index.entities][:limit]
            found = [(item, index.entities[item.entity_id]) for item in named]
        show(as_json, [mention_shape(*item) for item in found], lambda: stream_text(found))


def entities(limit: Limit = 20, user: User = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List whom and what was spoken of, the most often first."""
    from memory.recalling import graph
    from memory.shapes import known_shape

    with memory_of(user, data_dir) as memory:
        index = memory.index
        with index.lock:
            found = graph.entity_knowledge(index)[:limit]
        show(as_json, [known_shape(item) for item in found], lambda: entities_text(found))


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
