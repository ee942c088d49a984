"""Sentence ends: the trained model, our abbreviations, and markup that is looked through."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from readers.punkt import WINDOW, SentenceSplitter, mask_markup

SPLITTER = SentenceSplitter()


def test_more_abbreviations() -> None:
    text = "The temp. sensor is fine. Go."
    assert len(SentenceSplitter(["temp."]).ends(text)) == 2
    assert list(SentenceSplitter(["Temp"]).ends(text)) == [25, 29]


def test_code_spans_pair_runs_of_the_same_length() -> None:
    assert mask_markup("``a ` b`` c `d` e ` f") == "XXXXXXXXX c XXX e ` f"
    assert mask_markup("a `` b") == "a `` b"


def test_the_model_is_the_trained_one() -> None:
    model = SentenceSplitter([])._tokenizer._params
    assert {"dr", "jan"} <= model.abbrev_types
    assert len(model.ortho_context) == 20_366
    assert all(len(pair) == 2 for pair in model.collocations)
    assert "the" in model.ortho_context
    assert len(model.sent_starters) > 30


def test_a_long_text_is_looked_at_in_windows_cut_between_words() -> None:
    text = "word " * WINDOW
    ends = SPLITTER.ends(text + "End. Now")
    assert all(text[end - 1] == " " for end in ends[:-2])
    assert ends[-1] == len(text) + 8
    assert list(SPLITTER.ends("x" * (3 * WINDOW) + ". ")) == [WINDOW, 2 * WINDOW, 3 * WINDOW, 3 * WINDOW + 2]


def test_stops_without_prose_are_not_looked_at_one_by_one() -> None:
    assert list(SPLITTER.ends(". " * WINDOW)) == [WINDOW, 2 * WINDOW]
    assert len(SPLITTER.ends("A b. " * WINDOW)) == WINDOW


@given(st.text(alphabet=".!?*_`[](){}<>:/\"' \n\tabAB1é\u2028”", max_size=200))
def test_ends_rise_to_the_text_s_end_and_masks_keep_lengths(text: str) -> None:
    ends = list(SPLITTER.ends(text))
    assert ends == sorted(set(ends)) or not text
    assert ends[-1:] in ([len(text)], [])
    assert len(mask_markup(text)) == len(text)
