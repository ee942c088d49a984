"""Markers, links, exact spans, and what became of a cited passage."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answer import Passage
from pipeline.answering.citations import citation_of, provenance, sentences_of, with_markers, without_links
from pipeline.nodes import StoredNode
from tests.answers import FILE, citing

SECTION = "The fan hums. It turns at 4000 rpm.\n"


def leaf(passage: Passage, position: int) -> StoredNode:
    """The n-th sentence of `SECTION`, which starts at offset 10 of its file."""
    start, end = [(0, 13), (14, 35)][position]
    return StoredNode(
        node_id=f"{passage.section.node_id}/{position}",
        text=SECTION[start:end],
        start_char_idx=10 + start,
        end_char_idx=10 + end,
        metadata={
            "start_line": 3,
            "end_line": 3,
            "heading_path": [*passage.section.metadata["heading_path"]],
        },
        document_id="d",
    )


def passage(name: str) -> Passage:
    section = StoredNode(
        node_id=name,
        text=SECTION,
        start_char_idx=10,
        end_char_idx=10 + len(SECTION),
        metadata={"source": f"{name}.md", "heading_path": ["Ship", "Fan"]},
        document_id="d",
    )
    return Passage(section, (), True, 1.0)


def test_of_a_passage_that_stands_for_a_parent_the_headings_of_the_sentence_are_named() -> None:
    parent = passage("s1")
    sentence = leaf(parent, 1)
    sentence.metadata["heading_path"] = ["Ship", "Fan", "Speed"]
    found = citation_of([sentence], parent, marker=1, file_hash="")
    assert found.heading_path == ("Ship", "Fan", "Speed")
    both = citation_of([leaf(parent, 0), sentence], parent, marker=1, file_hash="")
    assert (both.quote, both.heading_path) == ("The fan hums. It turns at 4000 rpm.", ("Ship", "Fan"))


def test_markers_after_the_full_stop_belong_to_the_sentence_before() -> None:
    assert [piece.numbers for piece in sentences_of("One. [1][2] Two [3]. Three.")] == [(1, 2), (3,), ()]


@pytest.mark.parametrize(
    ("sentence", "marked"),
    [
        ("It hums.", "It hums [1][2]."),
        ("It hums", "It hums [1][2]"),
        ("**It hums.**", "**It hums.** [1][2]"),
        ("| fan | 4000 |", "| fan | 4000 [1][2] |"),
        ("风扇转动。", "风扇转动 [1][2]。"),
    ],
)
def test_markers_stand_before_the_full_stop(sentence: str, marked: str) -> None:
    assert with_markers(sentence, (1, 2)) == marked
    assert with_markers(sentence, ()) == sentence


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("See [the pump](../pump.md#start).", "See the pump."),
        ("See [it](https://known.example/a) and [that](https://made.up/b).", None),
        ("![A fan](fan.png) hums.", "A fan hums."),
        ("Read [[Fan|the fan page]] or [[Pump]].", "Read the fan page or Pump."),
        ("Run `[a](b)` now.", "Run `[a](b)` now."),
        ("As <source 2 1f0c> says, it hums.", "As  says, it hums."),
    ],
)
def test_links_become_text_unless_a_source_has_the_address(text: str, plain: str | None) -> None:
    expected = plain or "See [it](https://known.example/a) and that."
    assert without_links(text, "at https://known.example/a today") == expected


@given(st.text(alphabet="ab [](){}`~1239.-,\n【】^†!|", max_size=80))
def test_any_text_has_sentences_in_order(text: str) -> None:
    end = 0
    for piece in sentences_of(without_links(text, "")):
        assert end <= piece.start < piece.end
        end = piece.end


RPM = "It turns at 4000 rpm, day and night."


def test_the_same_text_is_the_same() -> None:
    found = provenance(citing(RPM), FILE)
    assert found.status == "same"
    assert FILE[found.start : found.end] == RPM


@pytest.mark.parametrize("quote", [RPM, "Ünïcode — 月面 works."])
def test_text_put_in_before_moves_it(quote: str) -> None:
    edited = "月 A new line.\n\n" + FILE
    found = provenance(citing(quote), edited)
    assert found.status == "moved"
    assert edited[found.start : found.end] == quote


def test_of_several_copies_the_nearest_counts() -> None:
    edited = RPM + "\n\n" + "x" * 400 + "\n\n" + FILE.replace("# Fan", "# Cabin fan") + "\n" + RPM
    found = provenance(citing(RPM), replace_at := edited)
    assert found.status == "moved"
    places = [i for i in range(len(replace_at)) if replace_at.startswith(RPM, i)]
    assert len(places) == 3
    assert found.start == min(places, key=lambda place: abs(place - citing(RPM).start))


@pytest.mark.parametrize("quote", [RPM, "The fan hums. " + RPM, RPM + "\n\nCall the ground."])
def test_other_line_ends_only_move_it_and_with_other_words_it_is_gone(quote: str) -> None:
    wrapped = FILE.replace("\n", "\r\n").replace("rpm, day", "rpm,\r\nday")
    found = provenance(citing(quote), wrapped)
    assert (found.status, wrapped[found.start : found.end].split()) == ("moved", quote.split())
    edited = "A line before.\n\n" + FILE.replace("4000", "4500")
    assert provenance(citing(quote), edited).status == "gone"


@pytest.mark.parametrize("edited", ["", "# Fan\n\nNothing of it is left here.\n", None])
def test_a_removed_passage_is_gone(edited: str | None) -> None:
    found = provenance(citing(RPM), edited)
    assert (found.status, found.start, found.end) == ("gone", None, None)


def test_an_empty_quote_is_where_it_was() -> None:
    assert provenance(replace(citing(RPM), quote="", end=citing(RPM).start), FILE).status == "same"
    assert provenance(replace(citing(RPM), quote=" ", end=8), "x").status == "gone"
