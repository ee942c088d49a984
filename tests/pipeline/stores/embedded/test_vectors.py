from __future__ import annotations

import numpy as np
import pytest

from pipeline.stores.embedded.vectors import Block, nearest, without

DIMENSIONS = 8


def unit_rows(count: int, *, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSIONS)).astype(np.float16)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float16)


def block(first_number: int, document: int, vectors: np.ndarray) -> Block:
    """The rows of one document, numbered from `first_number`."""
    numbers = np.arange(first_number, first_number + len(vectors))
    return Block(vectors.astype(np.float32), numbers, np.full(len(vectors), document))


def test_rows_agree_with_a_plain_search_through_growth_and_removal() -> None:
    random = np.random.default_rng(7)
    blocks, kept = list[Block](), dict[int, tuple[int, np.ndarray]]()
    number = 1
    for document in range(1, 121):
        vectors = unit_rows(int(random.integers(0, 40)), seed=document)
        blocks.append(block(number, document, vectors))
        kept |= {number + i: (document, vector) for i, vector in enumerate(vectors)}
        number += len(vectors)
        if document % 3 == 0:
            gone = {int(random.integers(1, document + 1)) for _ in range(3)}
            blocks = [without(one, gone) for one in blocks]
            kept = {n: pair for n, pair in kept.items() if pair[0] not in gone}
        query = unit_rows(1, seed=10_000 + document)[0].astype(np.float32)
        allowed = None if document % 2 else set(range(1, document, 4))
        expected = sorted(
            ((-float(vector.astype(np.float32) @ query), n) for n, (owner, vector) in kept.items()
             if allowed is None or owner in allowed)
        )[:10]  # fmt: skip
        found = nearest(blocks, query, 10, allowed)
        assert [scored.number for scored in found] == [n for _, n in expected]
        assert [scored.score for scored in found] == pytest.approx([-score for score, _ in expected])


def test_ties_are_broken_by_number_also_at_the_cut() -> None:
    same = np.tile(unit_rows(1, seed=1), (50, 1))
    found = nearest([block(101, 1, same)], same[0].astype(np.float32), 5, None)
    assert [scored.number for scored in found] == [101, 102, 103, 104, 105]
