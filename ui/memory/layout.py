"""Where the nodes of a graph are drawn: a small force layout, the same for the same graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

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
    """A place in the unit square for each node; neighbours near each other, `centre` in the middle.

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
    """How far each node moves in one round, shape (nodes, 2)."""
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
    """The same places within the unit square, its margin left free; the centre in the middle of it."""
    if centre is not None:
        reach = max(float(np.abs(position).max()), 1e-9) * (1.6 if len(position) < 4 else 1.0)
        scaled = position / reach / 2 + 0.5
    else:
        low, high = position.min(axis=0), position.max(axis=0)
        spread = np.where(high - low < 1e-9, 1.0, high - low)
        scaled = np.where(high - low < 1e-9, 0.5, (position - low) / spread)
    return np.asarray(MARGIN + scaled * (1 - 2 * MARGIN))


def _apart(position: np.ndarray, centre: int | None) -> np.ndarray:
    """The same places, those that would cover each other pushed apart where there is room."""
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
