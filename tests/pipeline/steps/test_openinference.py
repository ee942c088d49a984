"""Values of a size that may be sent: cut at a limit, and JSON all the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.steps.openinference import LIMIT, bounded, bounded_json

TEXTS = st.text(max_size=5) | st.sampled_from(["é" * 3_000, "x" * 25_000])
ITEMS = TEXTS | st.integers() | st.lists(TEXTS, max_size=3) | st.dictionaries(st.text(max_size=5), TEXTS)
SHORT = st.text(max_size=5) | st.sampled_from(["é" * 300]) | st.lists(st.text(max_size=5), max_size=3)
VALUES = st.dictionaries(st.text(max_size=5), ITEMS | st.lists(SHORT, max_size=3).map(lambda few: few * 70))


@settings(deadline=None)
@given(VALUES)
def test_json_keeps_to_the_limit(value: object) -> None:
    assert len(bounded_json(value).encode()) <= LIMIT


@given(st.text())
def test_a_short_text_stays_as_it_is(text: str) -> None:
    assert bounded(text) == text
    assert json.loads(bounded_json({"text": text})) == {"text": text}


@pytest.mark.parametrize("size", [LIMIT - 1, LIMIT, LIMIT + 1, 3 * LIMIT])
def test_a_long_text_is_cut_and_says_so(size: int) -> None:
    text = bounded("é" * (size // 2) + "x" * (size % 2))
    assert len(text.encode()) <= LIMIT
    assert text.endswith(f" … (cut: {size:,} bytes)") == (size > LIMIT)
    assert "\ufffd" not in text


def test_of_a_long_ranking_the_beginning_is_kept_and_the_rest_counted() -> None:
    names = ("bm25_sections", "bm25_sentences", "dense_sections", "dense_sentences")
    ranking = [[f"{place:036}", f"{place:036}", 0.5] for place in range(100)]
    value = json.loads(bounded_json(dict.fromkeys(names, ranking) | {"sentences": 2078}))
    assert list(value) == [*names, "sentences"]
    assert value["sentences"] == 2078
    for name in names:
        *kept, rest = value[name]
        assert kept == ranking[: len(kept)]
        assert len(kept) >= 20
        assert rest == f"… {100 - len(kept)} more"


def test_half_a_surrogate_pair_and_what_json_does_not_know_do_no_harm() -> None:
    assert bounded("a\ud800b") == "a?b"
    assert json.loads(bounded_json({"a": {1}, "b": "\ud800"})) == {"a": "{1}", "b": "?"}
