"""The graph of entities as data for the page: picture, ranking, changes and stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from memory import graph

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memory.index import UserIndex
    from pipeline.stores.memories import Entity, Relation

View = dict[str, Any]

DRAWN = 36  # entities at most: more is no picture
LISTED = 10
DEPTH = 2


def graph_view(index: UserIndex, chosen: str) -> View:
    """Return the entities mentioned most with their relations, or those around the chosen one."""
    counts = {known.entity.id: known.mentions for known in graph.entity_knowledge(index)}
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
    """Return the labels of the relations between two entities, by their ids."""
    edges: dict[tuple[str, str], list[str]] = {}
    for relation in relations:
        pair = (relation.subject_id, relation.object_id)
        if {*pair} <= shown and pair[0] != pair[1]:
            labels = edges.setdefault(pair, [])
            if relation.label not in labels:
                labels.append(relation.label)
    return edges


def sentences(index: UserIndex, chosen: str) -> list[str]:
    """Return the relations of an entity as sentences, the latest first, each once."""
    found = sorted(index.relations_of(chosen), key=lambda relation: (-relation.at, relation.id))
    return list(dict.fromkeys(graph.sentence(index, relation) for relation in found))


ROUNDS = 160
FIRST_STEP = 0.12  # of the side, how far a node moves at most in the first round
MARGIN = 0.06
GOLDEN_ANGLE = 2.399963  # radians: nodes on a sunflower's spiral are evenly spread
PULL = 1.0  # towards the middle: parts that nothing connects stay in the picture
ROOM = np.array([0.2, 0.1])  # of the unit square, for a node and its label
MOST_WITH_ROOM = 24  # nodes; more have less room each
SHOVES = 80

Places = Mapping[str, tuple[float, float]]


def places(nodes: Sequence[str], edges: Sequence[tuple[str, str]], *, centre: str = "") -> Places:
    """Return a place in the unit square for each node: neighbours near each other, `centre` in the middle.

    Fruchterman and Reingold (1991): all nodes repel each other, edges pull their ends together.
    """
    if not nodes:
        return {}
    at = {node: number for number, node in enumerate(nodes)}
    position = _spiral(len(nodes))
    linked = np.array([(at[a], at[b]) for a, b in edges if a in at and b in at and a != b], dtype=int)
    distance = 1.2 / sqrt(len(nodes))
    for round_ in range(ROUNDS):
        position += _step(position, linked.reshape(-1, 2), distance, most=FIRST_STEP * (1 - round_ / ROUNDS))
        if centre in at:
            position[at[centre]] = 0.0
    fitted = _apart(_fitted(position, at.get(centre)), at.get(centre))
    return {node: (float(x), float(y)) for node, (x, y) in zip(nodes, fitted, strict=True)}


def _spiral(count: int) -> np.ndarray:
    number = np.arange(count, dtype=float)
    radius = 0.5 * np.sqrt((number + 0.5) / count)
    return np.stack([radius * np.cos(GOLDEN_ANGLE * number), radius * np.sin(GOLDEN_ANGLE * number)], axis=1)


def _step(position: np.ndarray, linked: np.ndarray, distance: float, *, most: float) -> np.ndarray:
    """Return how far each node moves in one round, shape (nodes, 2)."""
    between = position[:, None, :] - position[None, :, :]
    length = np.maximum(np.linalg.norm(between, axis=2), 1e-3)
    force = (between * (distance**2 / length**2)[..., None]).sum(axis=1)
    for first, second in linked:
        apart = position[first] - position[second]
        pull = apart * (np.linalg.norm(apart) / distance)
        force[first] -= pull
        force[second] += pull
    force -= PULL * position
    size = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
    return np.asarray(force / size * np.minimum(size, most))


def _fitted(position: np.ndarray, centre: int | None) -> np.ndarray:
    """Return the places scaled into the unit square within its margin, the centre in its middle."""
    if centre is not None:
        reach = max(float(np.abs(position).max()), 1e-9) * (1.6 if len(position) < 4 else 1.0)
        scaled = position / reach / 2 + 0.5
    else:
        low, high = position.min(axis=0), position.max(axis=0)
        spread = np.where(high - low < 1e-9, 1.0, high - low)
        scaled = np.where(high - low < 1e-9, 0.5, (position - low) / spread)
    return np.asarray(MARGIN + scaled * (1 - 2 * MARGIN))


def _apart(position: np.ndarray, centre: int | None) -> np.ndarray:
    """Return the places with overlapping nodes pushed apart where there is room."""
    room = ROOM * min(1.0, sqrt(MOST_WITH_ROOM / len(position)))
    for _ in range(SHOVES):
        between = position[:, None, :] - position[None, :, :]
        overlap = room - np.abs(between)
        near = (overlap > 0).all(axis=2)
        np.fill_diagonal(near, val=False)
        if not near.any():
            break
        across = (overlap / room).argmin(axis=2)  # the axis on which the least is missing
        shove = np.zeros_like(between)
        rows, columns = np.nonzero(near)
        axis = across[rows, columns]
        gap = between[rows, columns, axis]
        side = np.where(gap == 0, np.where(rows < columns, -1.0, 1.0), np.sign(gap))
        shove[rows, columns, axis] = side * overlap[rows, columns, axis] / 2
        position = np.clip(position + 0.6 * shove.sum(axis=1), MARGIN, 1 - MARGIN)
        if centre is not None:
            position[centre] = 0.5
    return np.asarray(np.round(position, 4))
