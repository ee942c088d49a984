"""The prompt's budgets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.condense import Said
from pipeline.context import MESSAGE_TOKENS, count_tokens, fitting_history, fitting_message, number_sources
from tests.pipeline.passages import make_passage


def test_sources_are_numbered_with_their_place_and_the_last_is_cut() -> None:
    passages = [make_passage(f"s{n}", text="word " * 100, merged=True) for n in range(4)]
    sources = number_sources(passages, budget=200)
    assert [source.number for source in sources] == [1, 2]
    assert sources[0].text.startswith("[1] fan.md > Manual > Fan\nword")
    assert sources[1].text.endswith(" …")
    assert sum(count_tokens(source.text) for source in sources) <= 200


def test_the_latest_messages_fit_and_no_answer_stands_alone() -> None:
    history = [Said(True, "one"), Said(False, "two"), Said(True, "three"), Said(False, "four")]
    cost = 1 + MESSAGE_TOKENS
    assert fitting_history(history, budget=4 * cost) == history
    assert fitting_history(history, budget=3 * cost) == history[2:]
    assert fitting_history(history, budget=-5) == []


@given(st.text(max_size=300), st.integers(8, 60))
def test_a_message_fits_its_budget(text: str, budget: int) -> None:
    assert count_tokens(fitting_message(text, budget=budget)) <= budget + 1
    assert fitting_message(text, budget=10**6) == text
