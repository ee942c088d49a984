"""What became of a cited passage after an edit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.answer import Citation
from pipeline.answering.citations import provenance, quote_hash

FILE = (
    "# Fan\n\nThe fan hums. It turns at 4000 rpm, day and night.\n\nCall the ground. Ünïcode — 月面 works.\n"
)


def citing(quote: str, text: str = FILE) -> Citation:
    start = text.index(quote)
    return Citation(
        marker=1,
        source="fan.md",
        heading_path=("Fan",),
        start=start,
        end=start + len(quote),
        start_line=3,
        end_line=3,
        quote=quote,
        verified=True,
        section_id="s",
        file_hash="h",
        quote_hash=quote_hash(quote),
        section_text=text,
        section_start=0,
    )


RPM = "It turns at 4000 rpm, day and night."


def test_the_same_text_is_the_same() -> None:
    found = provenance(citing(RPM), FILE)
    assert (found.status, found.text) == ("same", RPM)
    assert FILE[found.start : found.end] == RPM


@pytest.mark.parametrize("quote", [RPM, "Ünïcode — 月面 works."])
def test_text_put_in_before_moves_it(quote: str) -> None:
    edited = "月 A new line.\n\n" + FILE
    found = provenance(citing(quote), edited)
    assert found.status == "moved"
    assert edited[found.start : found.end] == quote == found.text


def test_of_several_copies_the_nearest_counts() -> None:
    edited = RPM + "\n\n" + "x" * 400 + "\n\n" + FILE.replace("# Fan", "# Cabin fan") + "\n" + RPM
    found = provenance(citing(RPM), replace_at := edited)
    assert found.status == "moved"
    places = [i for i in range(len(replace_at)) if replace_at.startswith(RPM, i)]
    assert len(places) == 3
    assert found.start == min(places, key=lambda place: abs(place - citing(RPM).start))


@pytest.mark.parametrize("quote", [RPM, "The fan hums. " + RPM, RPM + "\n\nCall the ground."])
def test_other_line_ends_only_move_it(quote: str) -> None:
    edited = FILE.replace("\n", "\r\n")
    found = provenance(citing(quote), edited)
    assert found.status == "moved"
    assert edited[found.start : found.end].split() == quote.split()


def test_wrapped_lines_only_move_it() -> None:
    assert provenance(citing(RPM), FILE.replace("rpm, day", "rpm,\nday").replace("hums", "purrs")).text == (
        "It turns at 4000 rpm,\nday and night."
    )


def test_changed_words_show_the_sentence_as_it_is_now() -> None:
    edited = "A line before.\n\n" + FILE.replace("4000", "4500")
    found = provenance(citing(RPM), edited)
    assert (found.status, found.text) == ("changed", "It turns at 4500 rpm, day and night.")
    assert edited[found.start : found.end] == found.text


def test_several_changed_sentences_stay_together() -> None:
    edited = FILE.replace("4000", "4500")
    found = provenance(citing("The fan hums. " + RPM), edited)
    assert (found.status, found.text) == ("changed", "The fan hums. It turns at 4500 rpm, day and night.")


def test_small_words_in_a_long_paragraph_are_no_passage() -> None:
    edited = (
        "# Fan\n\n"
        + "It is said that at noon the crew and the ground turn in, day after day, night by night. " * 3
    )
    assert provenance(citing(RPM), edited).status == "gone"


@pytest.mark.parametrize("edited", ["", "# Fan\n\nNothing of it is left here.\n", None])
def test_a_removed_passage_is_gone(edited: str | None) -> None:
    found = provenance(citing(RPM), edited)
    assert (found.status, found.start, found.end) == ("gone", None, None)


def test_an_empty_quote_is_where_it_was() -> None:
    assert provenance(replace(citing(RPM), quote="", end=citing(RPM).start), FILE).status == "same"
    assert provenance(replace(citing(RPM), quote=" ", end=8), "x").status == "gone"
