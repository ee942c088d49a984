"""Where a graph's nodes are drawn: inside, apart, neighbours near, the same each time."""

from __future__ import annotations

from itertools import combinations
from math import dist

import pytest

from ui.memory.picture import ROOM, places

STAR = [("hub", f"leaf-{number}") for number in range(6)]
NODES = ["hub", *(leaf for _, leaf in STAR), "alone-1", "alone-2"]


def test_the_same_graph_is_drawn_the_same() -> None:
    assert places(NODES, STAR) == places(NODES, STAR)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 36])
def test_all_are_inside(count: int) -> None:
    nodes = [str(number) for number in range(count)]
    drawn = places(nodes, [("0", "1"), ("1", "1"), ("1", "unknown")])
    assert list(drawn) == nodes
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in drawn.values())


def test_none_covers_another() -> None:
    drawn = places(NODES, STAR)
    for one, other in combinations(drawn.values(), 2):
        assert abs(one[0] - other[0]) > 0.9 * ROOM[0] or abs(one[1] - other[1]) > 0.9 * ROOM[1]


def test_what_is_related_is_nearer() -> None:
    pairs = [(f"{side}-{number}", f"{side}-{number + 1}") for side in "ab" for number in range(3)]
    drawn = places([f"{side}-{number}" for side in "ab" for number in range(4)], pairs)
    within = [dist(drawn[one], drawn[other]) for one, other in pairs]
    between = [dist(drawn[f"a-{number}"], drawn[f"b-{number}"]) for number in range(4)]
    assert sum(within) / len(within) < sum(between) / len(between)


def test_the_chosen_one_stands_in_the_middle() -> None:
    assert places(NODES, STAR, centre="hub")["hub"] == (0.5, 0.5)
