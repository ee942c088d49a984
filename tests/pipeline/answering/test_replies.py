"""What is said without a language model."""

from __future__ import annotations

from pipeline.answer import Citation, Passage, Unit, UnitKind
from pipeline.answering.citations import quote_hash, renamed_markers
from pipeline.answering.quote_windows import Window, part_of
from pipeline.answering.quotes import Quote
from pipeline.answering.replies import (
    NEAREST,
    nearest_sections,
    not_answered,
    quote_citations,
    quote_units,
    quotes_text,
)
from pipeline.answering.section_blocks import SectionLeaves
from tests.pipeline.answering.leaves import section_leaves, section_node
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


def unit(
    marker: int,
    kind: UnitKind,
    *,
    lead: str = "",
    left_out_before: int = 0,
    left_out_after: int = 0,
    folded: bool = False,
) -> Unit:
    """How a quote is shown."""
    return Unit(marker, kind, 0, 9, lead, None, None, left_out_before, left_out_after, folded)


def test_quotes_stand_under_the_path_of_their_section_each_with_its_marker() -> None:
    assert quotes_text(cited(("Fan", "It hums."), ("Fan", "It\n\nturns."), ("Pump", "It pumps."))) == (
        "**Manual › Fan**\n\n> It hums. [1]\n\n> It\n>\n> turns. [2]\n\n**Manual › Pump**\n\n> It pumps. [3]"
    )


def test_text_before_the_first_heading_stands_under_its_file() -> None:
    assert quotes_text(cited(("", "It hums."))).startswith("**fan.md**")
    assert quotes_text([]) == ""


def test_what_a_document_cites_is_not_what_the_answer_cites() -> None:
    text = quotes_text(cited(("Fan", "As was measured [2], `a[1]`, it hums [^1].")))
    assert text.endswith(r"> As was measured \[2], `a[1]`, it hums \[^1]. [1]")
    assert renamed_markers(text, lambda marker: f"[^{marker}]").endswith(r"\[^1]. [^1]")


def test_what_is_for_programs_is_not_quoted() -> None:
    assert "> See `x` first. [1]" in quotes_text(cited(("Fan", "See `x`<!-- ignore --> first.")))


def test_leads_and_what_is_left_out_are_told() -> None:
    table = ("Codes", "| A | on |\n| B | off |")
    units = [
        unit(
            1, "table", lead="All codes:\n\n| code | means |\n|---|---|", left_out_before=1, left_out_after=7
        ),
        unit(2, "steps", left_out_after=1),
        unit(3, "list", left_out_before=2),
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
        "**Manual › Codes**\n\n> All codes:\n>\n> | code | means |\n> |---|---|\n> | A | on |\n> | B | off |"
        "\n>\n> [1]\n>\n> … 1 more row before, 7 after\n\n"
        "**Manual › Steps**\n\n> 1. Open. [2]\n>\n> … 1 more step\n\n"
        "**Manual › List**\n\n> - one [3]\n>\n> … 2 more items before\n\n"
        "**Manual › Code**\n\n> ```\n> run\n> ```\n>\n> [4]\n\n"
        "*2 more passages*"
    )


def quoted(markdown: str, first: int, last: int, best: int) -> tuple[Quote, SectionLeaves]:
    """A quote of some leaves of a section."""
    section = section_leaves(markdown)
    node = section_node(section.leaves)
    start, end = section.span(first, last)
    window = Window(first, last, section.block_of(last) if last > 0 else None)
    quote = Quote(
        Passage(node, (), merged=True, score=1.0),
        section.leaves[first : last + 1],
        start,
        end,
        score=0.9,
        best=section.leaves[best],
        part=part_of(section, window, best),
    )
    return quote, section


def test_quotes_are_numbered_and_know_their_files_hash() -> None:
    quote, _ = quoted(TEXT, 0, 0, 0)
    citations = quote_citations([quote, quote], {"file.md": "h"})
    assert [(c.marker, c.file_hash, c.quote, c.verified) for c in citations] == [
        (1, "h", "The fan hums.", True),
        (2, "h", "The fan hums.", True),
    ]
    assert quote_citations([quote], {})[0].file_hash == ""


def test_a_citation_is_the_quoted_span_with_its_bullets_and_fences() -> None:
    text = "Do this:\n\n- open it\n- close it\n\nThen run it:\n\n```sh\nrun\n```"
    file = f"# Title\n\n{text}\n"
    for first, last, best, expected, lines in (
        (1, 2, 2, "- open it\n- close it", (5, 6)),
        (3, 4, 4, "Then run it:\n\n```sh\nrun\n```", (8, 12)),
        (4, 4, 4, "```sh\nrun\n```", (10, 12)),
    ):
        quote, section = quoted(text, first, last, best)
        (citation,) = quote_citations([quote], {})
        (shown,) = quote_units([quote])
        assert file[citation.start : citation.end] == citation.quote == expected
        assert (citation.start_line, citation.end_line) == lines
        assert citation.quote_hash == quote_hash(expected)
        assert citation.heading_path == ("Title",)
        leaf = section.leaves[best]
        assert file[shown.answer_start : shown.answer_end] == leaf.text
        assert shown.start <= citation.start < citation.end <= shown.end
        assert shown.marker == citation.marker == 1


def test_the_nearest_sections_are_shown_by_their_best_sentence() -> None:
    passages = [make_passage("s0", text=TEXT, sentences=FOUND), make_passage("s1", text=TEXT)]
    one, two = nearest_sections(passages, {})
    assert (one.quote, one.verified) == ("The fan hum", False)
    assert two.quote == TEXT, "the section where no sentence of it was found"
    many = nearest_sections([make_passage(f"s{n}", text=TEXT) for n in range(9)], {})
    assert [citation.marker for citation in many] == list(range(1, NEAREST + 1))


def test_abstaining_names_the_question() -> None:
    assert "“Why {x}?”" in not_answered("Why {x}?")
