"""What is said without a language model."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.answer import Citation, Unit, UnitKind
from pipeline.answering.citations import renamed_markers
from pipeline.answering.replies import NEAREST, nearest_sections, quotes_text
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
            file_hash="",
            section_text=quote,
            section_start=0,
        )
        for marker, (heading, quote) in enumerate(quotes, start=1)
    ]


def unit(
    marker: int, kind: UnitKind, *, lead: str = "", start: int = 0, end: int = 0, folded: bool = False
) -> Unit:
    """How a quote is shown."""
    return Unit(marker, kind, start, end, lead, folded=folded)


def text_of(citations: Sequence[Citation]) -> str:
    """The text of quotes that are whole paragraphs."""
    return quotes_text(citations, [unit(citation.marker, "paragraph") for citation in citations])


def test_quotes_stand_under_the_path_of_their_section_each_with_its_marker() -> None:
    assert text_of(cited(("Fan", "It hums."), ("Fan", "It\n\nturns."), ("Pump", "It pumps."))) == (
        "**Manual › Fan**\n\n> It hums. [1]\n\n> It\n>\n> turns. [2]\n\n**Manual › Pump**\n\n> It pumps. [3]"
    )


def test_text_before_the_first_heading_stands_under_its_file() -> None:
    assert text_of(cited(("", "It hums."))).startswith("**fan.md**")
    assert text_of([]) == ""


def test_what_a_document_cites_is_not_what_the_answer_cites() -> None:
    text = text_of(cited(("Fan", "As was measured [2], `a[1]`, it hums [^1].")))
    assert text.endswith(r"> As was measured \[2], `a[1]`, it hums \[^1]. [1]")
    assert renamed_markers(text, lambda marker: f"[^{marker}]").endswith(r"\[^1]. [^1]")


def test_what_is_for_programs_is_not_quoted() -> None:
    assert "> See `x` first. [1]" in text_of(cited(("Fan", "See `x`<!-- ignore --> first.")))


def test_leads_and_what_is_left_out_are_told() -> None:
    table = ("Codes", "| A | on |\n| B | off |")
    units = [
        unit(1, "table", lead="All codes:", start=-9, end=99),
        unit(2, "steps", end=99),
        unit(3, "list", start=-9),
        unit(4, "code"),
        unit(5, "sentence", folded=True),
        unit(6, "sentence", folded=True),
    ]
    many = [
        table,
        ("Steps", "1. Open."),
        ("List", "- one"),
        ("Code", "```\nrun\n```"),
        ("A", "a."),
        ("B", "b."),
    ]
    assert quotes_text(cited(*many), units, opening="Closest:") == (
        "Closest:\n\n"
        "**Manual › Codes**\n\n> …\n>\n> All codes:\n>\n> | A | on |\n> | B | off |"
        "\n>\n> [1]\n>\n> …\n\n"
        "**Manual › Steps**\n\n> 1. Open. [2]\n>\n> …\n\n"
        "**Manual › List**\n\n> …\n>\n> - one [3]\n\n"
        "**Manual › Code**\n\n> ```\n> run\n> ```\n>\n> [4]\n\n"
        "*2 more passages*"
    )


def test_the_nearest_sections_are_shown_by_their_best_sentence() -> None:
    passages = [make_passage("s0", text=TEXT, sentences=FOUND), make_passage("s1", text=TEXT)]
    one, two = nearest_sections(passages, {})
    assert one.quote == "The fan hum"
    assert two.quote == TEXT, "the section where no sentence of it was found"
    many = nearest_sections([make_passage(f"s{n}", text=TEXT) for n in range(9)], {})
    assert [citation.marker for citation in many] == list(range(1, NEAREST + 1))
