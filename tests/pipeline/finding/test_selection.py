"""Selection: the number of passages and the token budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.finding.passages import Selection, select
from tests.pipeline.passages import ids, make_passage


def words(text: str) -> int:
    return len(text.split())


def run(sizes: list[int], *, top_k: int = 99, context_tokens: int = 10**9) -> Selection:
    passages = [make_passage(f"p{number:02}", text="w " * size) for number, size in enumerate(sizes)]
    return select(passages, top_k=top_k, context_tokens=context_tokens, count_tokens=words)


def test_the_budget_may_be_used_up_and_a_smaller_one_further_down_may_fit() -> None:
    selection = run([5, 6, 5, 1], context_tokens=10)
    assert ids(selection.passages) == ["p00", "p02"]
    assert selection.tokens == 10
    assert selection.dropped == [
        ("p01", "6 tokens do not fit the budget"),
        ("p03", "1 tokens do not fit the budget"),
    ]


def test_at_most_top_k() -> None:
    selection = run([1, 1, 1], top_k=2)
    assert (ids(selection.passages), selection.dropped) == (["p00", "p01"], [("p02", "beyond the first 2")])


def test_the_best_passage_is_kept_even_when_it_is_too_long() -> None:
    selection = run([50, 1], context_tokens=10)
    assert (ids(selection.passages), selection.tokens) == (["p00"], 50)


def test_nothing_of_nothing() -> None:
    assert run([]) == Selection([], 0, [])


def test_what_counts_is_what_is_shown() -> None:
    found = [(0, "one two", 0.9), (3, "three", 0.5)]
    whole, parts = (
        make_passage(name, text="w " * 40, sentences=found, merged=merged)
        for name, merged in (("whole", True), ("parts", False))
    )
    assert select([whole], top_k=1, context_tokens=99, count_tokens=words).tokens == 40
    assert select([parts], top_k=1, context_tokens=99, count_tokens=words).tokens == 3


@given(st.lists(st.integers(1, 30), max_size=15), st.integers(1, 10), st.integers(1, 60))
def test_every_passage_is_kept_or_dropped_with_a_reason(sizes: list[int], top_k: int, budget: int) -> None:
    selection = run(sizes, top_k=top_k, context_tokens=budget)
    kept, dropped = ids(selection.passages), [section_id for section_id, _ in selection.dropped]
    assert sorted(kept + dropped) == [f"p{number:02}" for number in range(len(sizes))]
    assert kept == sorted(kept)
    assert len(kept) <= top_k
    assert selection.tokens <= budget or len(kept) == 1
    if len(kept) < min(top_k, len(sizes)):  # there was room for one more: none of those dropped fits
        assert all(selection.tokens + sizes[int(name[1:])] > budget for name in dropped)
