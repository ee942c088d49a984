"""Dividing: pieces within the limit, cut as coarsely as possible, together the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.split import CELLS, CLAUSES, LINES, WORDS, Cut, TokenLimit, divide
from tests.readers.oracle import count_words


def pieces(text: str, max_tokens: int, *cuts: Cut) -> list[str]:
    limit = TokenLimit(count_words, max_tokens)
    return [text[start:end] for start, end in divide(text, limit=limit, cuts=cuts)]


def test_what_fits_is_left_whole() -> None:
    assert pieces("a b, c d", 10, CLAUSES, WORDS) == ["a b, c d"]


def test_the_coarsest_cut_that_does_comes_first() -> None:
    text = "one two three, four five; six seven eight nine ten"
    assert pieces(text, 5, CLAUSES, WORDS) == ["one two three, ", "four five; ", "six seven eight nine ten"]


def test_lines_and_cells() -> None:
    assert pieces("aaaa b\ncccc d\r\neeee f", 4, LINES) == ["aaaa b\ncccc d\r\n", "eeee f"]
    assert pieces("| a b c | d \\| e |", 5, CELLS) == ["| a b c |", " d \\| e |"]


def test_without_any_place_to_cut() -> None:
    assert pieces("x" * 10, 4) == ["x" * 10]  # one word
    limit = TokenLimit(len, 4)
    assert divide("x" * 10, limit=limit, cuts=(WORDS,)) == [(0, 4), (4, 8), (8, 10)]


def test_a_counter_that_nothing_satisfies_still_ends() -> None:
    limit = TokenLimit(lambda text: 5 * len(text), 1)
    assert divide("ab", limit=limit, cuts=(WORDS,)) == [(0, 1), (1, 2)]


def test_counting_is_spared_where_it_is_not_needed() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text.split())

    limit = TokenLimit(count, 100)
    assert limit.allows("x" * 100)
    assert not limit.allows("x" * 100_000)
    assert counted == []
    divide("some words " * 5_000, limit=limit, cuts=(WORDS,))
    assert max(counted) <= limit.reach
    assert len(counted) < 100 * 10


@given(
    st.text(alphabet="ab ,;\n|.x", max_size=300),
    st.integers(1, 20),
    st.sampled_from([(), (WORDS,), (CLAUSES, WORDS), (LINES, CELLS, WORDS)]),
)
def test_pieces_cover_the_text_and_fit(text: str, max_tokens: int, cuts: tuple[Cut, ...]) -> None:
    parts = pieces(text, max_tokens, *cuts)
    assert "".join(parts) == text
    assert all(min(len(part.strip()), count_words(part)) <= max_tokens for part in parts)


@pytest.mark.parametrize("max_tokens", [1, 7, 254])
def test_pieces_are_not_needlessly_small(max_tokens: int) -> None:
    parts = pieces("word " * 3_000, max_tokens, WORDS)
    assert all(count_words(part) == max_tokens for part in parts[:-1])
