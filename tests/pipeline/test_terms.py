"""Content words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.analysis import analyse
from pipeline.terms import content_terms, stop_terms


def test_negations_and_modal_verbs_say_nothing_of_the_subject() -> None:
    assert {"not", "cannot", "should"} <= stop_terms()


@given(st.text(max_size=60))
def test_terms_are_the_analysers(text: str) -> None:
    terms = content_terms(text)
    assert len(set(terms)) == len(terms)
    assert set(terms) <= set(analyse(text))
    assert bool(terms) == bool(analyse(text))
