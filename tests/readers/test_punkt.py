"""Sentence ends: the trained model, our abbreviations, and markup that is looked through."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from readers.punkt import ABBREVIATIONS, WINDOW, mask_markup, sentence_ends

ends = sentence_ends("en")


def test_abbreviations_are_those_of_the_trained_model_and_ours() -> None:
    assert list(ends("As in Fig. 3, Dr. Liu left in Jan. by bus. Go.")) == [42, 46]
    model = sentence_ends("en").args[0]._params  # type: ignore[attr-defined]
    assert {"dr", "jan", *ABBREVIATIONS} <= model.abbrev_types
    assert len(model.ortho_context) == 20_366
    assert all(len(pair) == 2 for pair in model.collocations)


def test_english_is_the_language_of_a_text_that_names_none() -> None:
    assert sentence_ends("")("E.g. this. Go.") == sentence_ends("en")("E.g. this. Go.")
    assert len(sentence_ends("de")("Das ist z.B. gut. Es hält.")) == 2


def test_code_spans_pair_runs_of_the_same_length() -> None:
    assert mask_markup("``a ` b`` c `d` e ` f") == "XXXXXXXXX c XXX e ` f"
    assert mask_markup("a `` b") == "a `` b"


def test_a_long_text_is_looked_at_in_windows_cut_between_words() -> None:
    text = "word " * WINDOW
    found = ends(text + "End. Now")
    assert all(text[end - 1] == " " for end in found[:-2])
    assert found[-1] == len(text) + 8
    assert list(ends("x" * (3 * WINDOW) + ". ")) == [WINDOW, 2 * WINDOW, 3 * WINDOW, 3 * WINDOW + 2]


@given(st.text(alphabet=".!?*_`[](){}<>:/\"' \n\tabAB1é\u2028”", max_size=200))
def test_ends_rise_to_the_text_s_end_and_masks_keep_lengths(text: str) -> None:
    found = list(ends(text))
    assert found == sorted(set(found)) or not text
    assert found[-1:] in ([len(text)], [])
    assert len(mask_markup(text)) == len(text)
