"""Two wordings' lists become one, by hand arithmetic."""

from __future__ import annotations

import pytest

from pipeline.finding.beside import blend
from pipeline.stores.base import Hit, Ranking, SearchResponse

NONE = SearchResponse((), (), (), ())


def ranking(**scores: float) -> Ranking:
    return tuple(Hit(name, f"of {name}", score) for name, score in scores.items())


def scores(found: Ranking) -> dict[str, float]:
    return {hit.node_id: hit.score for hit in found}


def test_words_are_scaled_first_and_keep_the_range_of_the_questions_own_list() -> None:
    own = SearchResponse(ranking(a=10.0, b=6.0, c=2.0), (), (), ())
    other = SearchResponse(ranking(c=3.0, a=1.0), (), (), ())
    found = blend(own, other, share=0.25).bm25_sections
    # own, scaled: a 1, b .5, c 0; other: c 1, a 0; sums a .75, b .375, c .25, of 2 to 10.
    assert scores(found) == pytest.approx({"a": 8.0, "b": 5.0, "c": 4.0})
    assert [hit.node_id for hit in found] == ["a", "b", "c"]
    assert found[0].section_id == "of a"


def test_cosines_are_added_as_they_are() -> None:
    own = SearchResponse((), (), (), ranking(a=0.8, b=0.4))
    other = SearchResponse((), (), (), ranking(b=0.9, c=0.3))
    found = blend(own, other, share=0.5).dense_sentences
    # What a list does not name gets its lowest: a .5 * .8 + .5 * .3, b .5 * .4 + .5 * .9.
    assert scores(found) == pytest.approx({"b": 0.65, "a": 0.55})  # c is third, and the lists had two


def test_a_list_that_one_wording_does_not_have_is_the_others() -> None:
    own = SearchResponse((), ranking(a=3.0, b=1.0), (), ())
    for found in (blend(own, NONE, share=0.4), blend(NONE, own, share=0.4)):
        assert scores(found.bm25_sentences) == pytest.approx({"a": 3.0, "b": 1.0})
        assert found.dense_sections == ()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_whole_share_is_that_wordings_order(share: float) -> None:
    own = SearchResponse(ranking(a=2.0, b=1.0, c=0.5), (), (), ())
    other = SearchResponse(ranking(c=2.0, b=1.0, a=0.5), (), (), ())
    order = [hit.node_id for hit in blend(own, other, share=share).bm25_sections]
    assert order == (["a", "b", "c"] if share == 0 else ["c", "b", "a"])
