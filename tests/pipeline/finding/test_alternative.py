"""Alternative query: two responses as one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.finding.alternative import blend
from pipeline.finding.fusion import LISTS
from pipeline.stores.base import Hit, Ranking, SearchResponse

names = st.sampled_from(["a0", "a1", "b0", "c0"])
rankings = st.dictionaries(names, st.integers(-4, 4).map(float)).map(
    lambda scores: tuple(sorted((hit(*item) for item in scores.items()), key=lambda found: -found.score))
)
responses = st.builds(SearchResponse, rankings, rankings, rankings, rankings)


def hit(node: str, score: float) -> Hit:
    return Hit(node, node[0], score)


def response(bm25: Ranking = (), dense: Ranking = ()) -> SearchResponse:
    return SearchResponse((), bm25, (), dense)


def test_by_hand() -> None:
    own = response((hit("a0", 10.0), hit("b0", 5.0), hit("c0", 0.0)), (hit("a0", 0.8), hit("b0", 0.2)))
    other = response((hit("c0", 4.0), hit("b0", 2.0)), (hit("c0", 0.6),))
    both = blend(own, other, share=0.5)
    # BM25 is scaled first: a .5 · 1 + .5 · 0, b .5 · .5 + .5 · 0, c .5 · 0 + .5 · 1
    assert both.bm25_sentences == (hit("a0", 0.5), hit("c0", 0.5), hit("b0", 0.25))
    # Cosines are not: a .4 + .3 (the least of the other), c .1 (the least of its own) + .3; no list grows
    assert [(found.node_id, found.score) for found in both.dense_sentences] == [
        ("a0", pytest.approx(0.7)), ("b0", pytest.approx(0.4)),
    ]  # fmt: skip


@given(responses, responses, st.floats(0, 1))
def test_what_both_find_is_all_that_is_found_and_an_empty_list_changes_nothing(
    own: SearchResponse, other: SearchResponse, share: float
) -> None:
    both = blend(own, other, share=share)
    for name in LISTS:
        one, two, found = (getattr(each, name) for each in (own, other, both))
        assert {item.node_id for item in found} <= {item.node_id for item in (*one, *two)}
        assert len(found) == max(len(one), len(two))
    assert blend(own, response(), share=share) == own
