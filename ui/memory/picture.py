"""Whom and what was spoken of, as data: the graph as it is drawn, the ranking, the changes, the stream."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from memory import graph
from pipeline.words import counted
from ui.memory.layout import places
from ui.shared.words import local_time, one_line, shortened

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memory.index import UserIndex
    from pipeline.stores.memories import Entity, Relation

View = dict[str, Any]

DRAWN = 36  # entities at most: more is no picture
LISTED = 10
STREAMED = 60  # mentions
WEEK_S = 7 * 86_400.0
DEPTH = 2


def graph_view(index: UserIndex, chosen: str) -> View:
    """The entities spoken of most and what relates them, or what is around the chosen one."""
    counts = {known.entity.id: known.mentions for known in _known(index)}
    if chosen in index.entities:
        around = graph.neighbourhood(index, [chosen], depth=DEPTH)
        shown = [entity.id for entity in around.entities][:DRAWN]
        relations: Collection[Relation] = around.relations
        distances = around.distances
    else:
        related = {end for item in index.relations.values() for end in (item.subject_id, item.object_id)}
        order = sorted(
            index.entities.values(),
            key=lambda entity: (-counts.get(entity.id, 0), entity.id not in related, entity.name, entity.id),
        )
        shown = [entity.id for entity in order[:DRAWN]]
        relations = index.relations.values()
        distances = {}
    edges = _edges(relations, set(shown))
    at = places(shown, list(edges), centre=chosen)
    most = max(counts.values(), default=1)
    return {
        "label": _label(index, shown, chosen),
        "chosen": chosen if chosen in index.entities else "",
        "nodes": [
            _node(index.entities[known])
            | {
                "x": at[known][0],
                "y": at[known][1],
                "mentions": counts.get(known, 0),
                "size": round((counts.get(known, 0) / most) ** 0.5, 3),
                "distance": distances.get(known, 0),
            }
            for known in shown
        ],
        "edges": [
            {"from": first, "to": second, "label": ", ".join(labels)}
            for (first, second), labels in sorted(edges.items())
        ],
    }


def _node(entity: Entity) -> View:
    return {"id": entity.id, "name": entity.name, "type": entity.type}


def _label(index: UserIndex, shown: Sequence[str], chosen: str) -> str:
    if chosen in index.entities:
        return f"What is around {index.entities[chosen].name}, to two steps"
    left = len(index.entities) - len(shown)
    return "Whom and what you spoke of" + (f"; {left:,} more are not drawn" if left else "")


def _edges(relations: Collection[Relation], shown: set[str]) -> dict[tuple[str, str], list[str]]:
    """What relates two entities, in all its words."""
    edges: dict[tuple[str, str], list[str]] = {}
    for relation in relations:
        pair = (relation.subject_id, relation.object_id)
        if {*pair} <= shown and pair[0] != pair[1]:
            labels = edges.setdefault(pair, [])
            if relation.label not in labels:
                labels.append(relation.label)
    return edges


def _known(index: UserIndex) -> list[graph.Known]:
    return graph.entity_knowledge(index, most=len(index.entities) or 1)


def sentences(index: UserIndex, chosen: str) -> list[str]:
    """What is said of an entity, the latest first, each once."""
    found = sorted(index.relations_of(chosen), key=lambda relation: (-relation.at, relation.id))
    return list(dict.fromkeys(graph.sentence(index, relation) for relation in found))


def ranking_view(index: UserIndex) -> View:
    """The entities spoken of most."""
    found = graph.entity_knowledge(index, most=LISTED)
    most = max((known.mentions for known in found), default=1)
    return {
        "label": "Spoken of most",
        "rows": [
            _node(known.entity)
            | {
                "share": known.mentions / most,
                "words": counted(known.mentions, "time"),
                "detail": f"last {local_time(known.last_at)}",
            }
            for known in found
        ],
    }


def changes_view(index: UserIndex, *, now: float) -> View:
    """What was spoken of more or less this week than the week before."""
    found = graph.changes(index, before=(now - 2 * WEEK_S, now - WEEK_S), after=(now - WEEK_S, float("inf")))
    most = max((abs(change.after - change.before) for change in found), default=1)
    return {
        "label": "This week and the week before",
        "rows": [
            _node(change.entity)
            | {
                "share": abs(change.after - change.before) / most,
                "words": f"{change.before} → {change.after}",
                "detail": _moved(change),
            }
            for change in found[:LISTED]
        ],
    }


def _moved(change: graph.Change) -> str:
    if not change.before:
        return "New this week"
    if not change.after:
        return "Not this week"
    return "More than the week before" if change.after > change.before else "Less than the week before"


def stream_view(index: UserIndex, chosen: str) -> View:
    """What was spoken of and when, by day, the latest first."""
    found = graph.stream(index, entity_id=chosen if chosen in index.entities else "")
    entries = [
        _node(index.entities[mention.entity_id])
        | {
            "day": local_time(mention.at)[:10],
            "time": local_time(mention.at)[11:],
            "said": _said(index, mention.memory_id),
            "where": mention.source,
        }
        for mention in found
        if mention.entity_id in index.entities
    ]
    days = groupby(entries[:STREAMED], key=lambda entry: entry["day"])
    return {
        "days": [{"day": day, "entries": list(of_day)} for day, of_day in days],
        "left": max(0, len(entries) - STREAMED),
    }


def _said(index: UserIndex, memory_id: str) -> str:
    memory = index.memories.get(memory_id)
    return shortened(one_line(memory.text), 160) if memory else ""
