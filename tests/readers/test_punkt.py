"""Sentence ends: the trained model, our abbreviations, and markup that is looked through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.punkt import WINDOW, SentenceSplitter, mask_markup

SPLITTER = SentenceSplitter()


def sentences(text: str) -> list[str]:
    ends = list(SPLITTER.ends(text))
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Ride met Mr. Young on Jan. 5 at 3.5 km.",
        "Use a spare, e.g. the one in bay 3, i.e. the last.",
        "See fig. 4 and No. 7, approx. 2.5 bar, vs. the nominal value.",
        "Close LN2-V2 (cf. sec. 3) first",
        "Set `a.b. C` to *no.* value",
        "The [manual, p. 3](http://example.org/a.html?b.C) says so.",
        "Press the “Stop!” button.",
        "Write to <http://example.org/a?b> or <a@b.org>.",
        "What?! no more",
        "Version 3.10.4 is e.g. **newer** than 3.9.",
        "file.txt",
        "...",
        "",
    ],
)
def test_one_sentence(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    "expected",
    [
        ["Close the valve.", "Open the tank."],
        ["Is it off?", "Then restart!", "Wait."],
        ["**Stop.**", "**Go** on."],
        ["_It is cold._", "Heat it."],
        ["It said “Stop.”", "We stopped."],
        ['Read [the manual.](/a/b.md "The. Title")', "Then act."],
        ["Run `cargo build`.", "`cargo test` comes next."],
        ["It ended (at last.)", "The next began."],
        ["It is done.", "<br>Next."],
        ["A warning.\n{: .warning}", "More."],
        ["The pump is no. 3.", "The fan is not."],
        ["One line.", "Next line\ngoes on."],
        ["Use snake_case_names.", "Use * too."],
    ],
)
def test_more_sentences(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected
    assert sentences("\n".join(expected)) == expected


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
