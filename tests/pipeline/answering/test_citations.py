"""Markers become exact spans; invented ones go; code and links stay."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode

from pipeline.answer import Passage
from pipeline.answering.citations import (
    Cited,
    Place,
    citation_of,
    cite,
    quote_hash,
    renamed_markers,
    sentences_of,
    without_markers,
)

SECTION = "The fan hums. It turns at 4000 rpm.\n"


def leaf(passage: Passage, position: int) -> TextNode:
    """The n-th sentence of `SECTION`, which starts at offset 10 of its file."""
    start, end = [(0, 13), (14, 35)][position]
    return TextNode(
        id_=f"{passage.section.node_id}/{position}",
        text=SECTION[start:end],
        start_char_idx=10 + start,
        end_char_idx=10 + end,
        metadata={
            "start_line": 3,
            "end_line": 3,
            "heading_path": [*passage.section.metadata["heading_path"]],
        },
    )


def passage(name: str) -> Passage:
    section = TextNode(
        id_=name,
        text=SECTION,
        start_char_idx=10,
        end_char_idx=10 + len(SECTION),
        metadata={"source": f"{name}.md", "heading_path": ["Ship", "Fan"]},
    )
    return Passage(section, (), True, 1.0)


PASSAGES = {number: passage(f"s{number}") for number in (1, 2, 3)}


def locate(sentence: str, number: int) -> Sequence[Place]:
    """The second sentence where the answer speaks of rpm, else the first; both for "both"."""
    found = PASSAGES[number]
    if "both" in sentence:
        return [Place(found, leaf(found, 0)), Place(found, leaf(found, 1))]
    return [Place(found, leaf(found, 1 if "rpm" in sentence else 0))]


def cited(text: str) -> Cited:
    return cite(text, PASSAGES, locate=locate, file_hashes={"s1.md": "h1"})


@pytest.mark.parametrize(
    ("given_text", "expected", "sources"),
    [
        ("It hums [2].", "It hums [1].", ["s2"]),
        ("It hums [9].", "It hums.", []),
        ("It hums [0], always.", "It hums, always.", []),
        ("It hums [1, 3].", "It hums [1][2].", ["s1", "s3"]),
        ("It hums [1-3].", "It hums [1][2][3].", ["s1", "s2", "s3"]),
        ("It hums [1–2]; [9].", "It hums [1][2];.", ["s1", "s2"]),
        ("It hums 【3】.", "It hums [1].", ["s3"]),
        ("It hums 【2†source】.", "It hums [1].", ["s2"]),
        ("It hums [^1].", "It hums [1].", ["s1"]),
        ("It hums [Source 2].", "It hums [1].", ["s2"]),
        ("It hums [1][1] [1].", "It hums [1].", ["s1"]),
        ("It hums. [2]", "It hums. [1]", ["s2"]),
        ("It hums [1].\nIt hums [2].", "It hums [1].\nIt hums [2].", ["s1", "s2"]),
        ("It does both [1].", "It does both [1][2].", ["s1", "s1"]),
        ("See [1](https://example.org) here.", "See [1](https://example.org) here.", []),
        ("Read `a[1][1] ; b[9]` now [1].", "Read `a[1][1] ; b[9]` now [1].", ["s1"]),
        ("```\nx[1] = y[9]\n```", "```\nx[1] = y[9]\n```", []),
        ("~~~\nx[9]\n~~~\nIt hums [3].", "~~~\nx[9]\n~~~\nIt hums [1].", ["s3"]),
        ("```\nunclosed x[9]", "```\nunclosed x[9]", []),
        ("| hums [9] | 5 |", "| hums | 5 |", []),
        ("Set x : y [1].", "Set x : y [1].", ["s1"]),
        ("It hums [1-900].", "It hums [1].", ["s1"]),
        ("", "", []),
    ],
)
def test_markers_are_resolved(given_text: str, expected: str, sources: list[str]) -> None:
    found = cited(given_text)
    assert found.text == expected
    assert [citation.source for citation in found.citations] == [f"{name}.md" for name in sources]
    assert [citation.marker for citation in found.citations] == list(range(1, len(sources) + 1))


def test_a_citation_is_an_exact_span() -> None:
    (citation,) = cited("It turns at 4000 rpm [1].").citations
    file = "# Ship\n\n\n\n"[:10] + SECTION
    assert file[citation.start : citation.end] == citation.quote == "It turns at 4000 rpm."
    assert citation.section_text[citation.start - citation.section_start :].startswith(citation.quote)
    assert (citation.file_hash, citation.quote_hash) == ("h1", quote_hash(citation.quote))
    assert citation.heading_path == ("Ship", "Fan")


def test_of_a_passage_that_stands_for_a_parent_the_headings_of_the_sentence_are_named() -> None:
    parent, sentence = PASSAGES[1], leaf(PASSAGES[1], 1)
    sentence.metadata["heading_path"] = ["Ship", "Fan", "Speed"]
    found = citation_of([sentence], parent, marker=1, file_hash="", verified=True)
    assert found.heading_path == ("Ship", "Fan", "Speed")
    both = citation_of([leaf(parent, 0), sentence], parent, marker=1, file_hash="", verified=True)
    assert both.heading_path == ("Ship", "Fan")


def test_adjacent_leaves_make_one_span() -> None:
    one = PASSAGES[1]
    citation = citation_of([leaf(one, 0), leaf(one, 1)], one, marker=1, file_hash="", verified=True)
    assert citation.quote == "The fan hums. It turns at 4000 rpm."


def test_the_same_sentence_is_cited_once() -> None:
    found = cited("It hums [1]. It hums loudly [1]. It turns at 4000 rpm [1].")
    assert found.text == "It hums [1]. It hums loudly [1]. It turns at 4000 rpm [2]."
    assert len(found.citations) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("One [1]. Two. [2] Three.", ["One [1].", "Two. [2]", "Three."]),
        ("1. Close it.\n2. Wait.", ["1. Close it.", "2. Wait."]),
        ("The limit is 5. The other is 6.", ["The limit is 5.", "The other is 6."]),
        ("Use e.g. Fan two. Done.", ["Use e.g. Fan two.", "Done."]),
        ("Wait 5 min. Then go on.", ["Wait 5 min.", "Then go on."]),
        ("Take approx. 5 litres.", ["Take approx. 5 litres."]),
        ("The answer is no. Close it.", ["The answer is no.", "Close it."]),
        ("A line that\ngoes on here. Next.", ["A line that\ngoes on here.", "Next."]),
        ("- one\n- two", ["- one", "- two"]),
        ("**Stop.** Go.", ["**Stop.**", "Go."]),
        ("```\na. b\nc\n```\nDone.", ["```\na. b\nc\n```", "Done."]),
        ("Run `a. b` now.", ["Run `a. b` now."]),
        ("", []),
    ],
)
def test_sentences_of_an_answer(text: str, expected: list[str]) -> None:
    assert [text[piece.start : piece.end] for piece in sentences_of(text)] == expected


def test_markers_after_the_full_stop_belong_to_the_sentence_before() -> None:
    assert [piece.numbers for piece in sentences_of("One. [1][2] Two [3]. Three.")] == [(1, 2), (3,), ()]


def test_without_markers() -> None:
    assert without_markers("It hums [1][2]. `x[1]` stays [3], too.") == "It hums. `x[1]` stays, too."


def test_three_backticks_around_a_command_open_no_block() -> None:
    text = "```power on A``` starts it [1]. Then wait [2]."
    assert renamed_markers(text, lambda n: f"[^{n}]") == text.replace("[", "[^")


def test_a_longer_fence_is_closed_by_one_as_long() -> None:
    text = "````\n```\na[1]\n```\nb[1]\n````\n[2]"
    assert renamed_markers(text, lambda n: f"[^{n}]") == text.replace("[2]", "[^2]")


def test_renamed_markers_leave_code_alone() -> None:
    assert renamed_markers("a [1] `b[1]` [2]", lambda n: f"[^{n}]") == "a [^1] `b[1]` [^2]"


@given(st.text(alphabet="ab [](){}`~1239.-,\n【】^†", max_size=80))
def test_any_text_is_resolved_to_known_markers_only(text: str) -> None:
    found = cited(text)
    known = {citation.marker for citation in found.citations}
    assert (
        {number for piece in found.pieces for number in piece.numbers} <= known | {0}
        or "`" in text
        or ("~" in text or "(" in text or "[" in text.replace("[", "", 1))
    )
    for piece in found.pieces:
        assert 0 <= piece.start < piece.end <= len(found.text)
