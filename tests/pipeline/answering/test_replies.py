"""What is said without a language model."""

from __future__ import annotations

from pipeline.answer import Citation
from pipeline.answering.quotes import Quote
from pipeline.answering.replies import NEAREST, nearest_sections, not_answered, quote_citations, quotes_text
from tests.pipeline.passages import make_passage

TEXT = "The fan hums. It turns at 4000 rpm."
FOUND = [(0, "The fan hum", 0.9)]


def cited(*quotes: tuple[str, str]) -> list[Citation]:
    """Citations of (heading, quote)."""
    return [
        Citation(
            marker=marker,
            source="fan.md",
            heading_path=("Manual", heading) if heading else (),
            start=0,
            end=len(quote),
            start_line=1,
            end_line=1,
            quote=quote,
            verified=True,
            section_id=heading,
            file_hash="",
            quote_hash="",
            section_text=quote,
            section_start=0,
        )
        for marker, (heading, quote) in enumerate(quotes, start=1)
    ]


def test_quotes_stand_under_the_path_of_their_section_each_with_its_marker() -> None:
    assert quotes_text(cited(("Fan", "It hums."), ("Fan", "It\n\nturns."), ("Pump", "It pumps."))) == (
        "**Manual › Fan**\n\n> It hums. [1]\n\n> It\n> \n> turns. [2]\n\n**Manual › Pump**\n\n> It pumps. [3]"
    )


def test_text_before_the_first_heading_stands_under_its_file() -> None:
    assert quotes_text(cited(("", "It hums."))).startswith("**fan.md**")
    assert quotes_text([]) == ""


def test_quotes_are_numbered_and_know_their_files_hash() -> None:
    passage = make_passage("s1", text=TEXT, sentences=FOUND)
    quotes = [Quote(passage, (passage.sentences[0].node,), 0.9)] * 2  # type: ignore[arg-type]
    citations = quote_citations(quotes, {"fan.md": "h"})
    assert [(c.marker, c.file_hash, c.quote, c.verified) for c in citations] == [
        (1, "h", "The fan hum", True),
        (2, "h", "The fan hum", True),
    ]
    assert quote_citations(quotes[:1], {})[0].file_hash == ""


def test_the_nearest_sections_are_shown_by_their_best_sentence() -> None:
    passages = [make_passage("s0", text=TEXT, sentences=FOUND), make_passage("s1", text=TEXT)]
    one, two = nearest_sections(passages, {})
    assert (one.quote, one.verified) == ("The fan hum", False)
    assert two.quote == TEXT, "the section where no sentence of it was found"
    many = nearest_sections([make_passage(f"s{n}", text=TEXT) for n in range(9)], {})
    assert [citation.marker for citation in many] == list(range(1, NEAREST + 1))


def test_abstaining_names_the_question() -> None:
    assert "“Why {x}?”" in not_answered("Why {x}?")
