"""What the evidence pane marks in a cited passage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipeline.answering.citations import provenance
from tests import made_answers as made
from tests.pipeline.searching import make_store
from ui.conversation.evidence import CitationWalk, evidence_view, marks_of, walk
from ui.shared.state import OpenEvidence


def opened(marker: int) -> CitationWalk:
    at = walk(made.ANSWERED, OpenEvidence("t", "citation", marker))
    assert at is not None
    return at


def marked(at: CitationWalk, text: str) -> list[tuple[str, str]]:
    return [(span.kind, text[span.start : span.end]) for span in marks_of(at, provenance(at.current, text))]


def test_what_answers_is_marked_stronger_than_the_rest_of_its_quote() -> None:
    assert marked(opened(3), made.MANUAL) == [
        ("answer", "The cell then carries 2 kW."),
        ("mark", made.PARAGRAPH.quote.removeprefix("The cell then carries 2 kW.")),
    ]
    assert marked(opened(1), made.MANUAL) == [("mark", made.ROWS.quote)]  # all of it answers


def test_marks_move_with_their_passage() -> None:
    [first, *_] = marked(opened(3), "# New\n\nFirst.\n\n" + made.MANUAL)
    assert first == ("answer", "The cell then carries 2 kW.")


def test_of_a_passage_that_is_gone_nothing_is_marked() -> None:
    assert marked(opened(3), made.MANUAL.replace("carries 2 kW", "carries no more than 3 kW")) == []


def test_a_passage_that_begins_at_a_heading_is_shown_with_all_of_its_sections(tmp_path: Path) -> None:
    """Its parent stands for its sections, and a heading is in none of these."""
    store = make_store(tmp_path, {made.SOURCE: made.MANUAL})
    parent = made.cited(1, "Cabin alarms", "## Cabin alarms", "into the log.")
    opened_at = OpenEvidence("t", "citation", 1)
    at = walk(replace(made.ANSWERED, citations=(parent,), units=()), opened_at)
    assert at is not None
    shown = evidence_view(at, opened_at, sections=store)["html"]
    assert "CO2 above its limit" in shown and "Write the time into the log." in shown
