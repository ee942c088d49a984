"""Merging upwards: which sections a heading replaces, on a document made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answer import Passage
from pipeline.errors import UnknownDocument
from pipeline.finding import merging
from pipeline.finding.merging import is_merged, merge_up
from pipeline.nodes import StoredNode
from pipeline.steps.records import MergedUp, MergeUpStep
from pipeline.steps.trace import RunningStep
from pipeline.stores.base import DocumentInfo, StoredDocument

PARTS = {  # id of the section: its heading path, the id of the heading above, its text
    "intro": (("Power",), "", "Power procedures."),
    "dark": (("Power", "Bus", "Symptoms"), "bus", "Half of the ship is dark."),
    "cause": (("Power", "Bus", "Causes"), "bus", "The breaker opened."),
    "fix": (("Power", "Bus", "Fix"), "bus", "Close it."),
    "battery": (("Power", "Battery"), "intro", "It is low."),
    "other": (("Power", "Battery", "Fix"), "battery", "Use the other battery."),
}


def document(text_before: str = "") -> StoredDocument:
    text, sections = text_before, []
    for line, (node_id, (path, parent, own)) in enumerate(PARTS.items(), start=1):
        metadata = {
            "source": "power.md",
            "heading_path": [*path],
            "parent": parent,
            "start_line": line,
            "end_line": line,
        }
        sections.append(
            StoredNode(node_id, own, metadata, len(text), len(text) + len(own), "d", "", (f"{node_id}/0",))
        )
        text += own + "\n"
    info = DocumentInfo("d", "power.md", "/", "Power", "", len(PARTS), len(PARTS), len(text), 0.0)
    return StoredDocument(info, text, tuple(sections))


class Sections:
    """A store of one document, or of none."""

    def __init__(self, stored: StoredDocument | None) -> None:
        self.stored = stored

    def document(self, source: str) -> StoredDocument:
        if self.stored is None:
            raise UnknownDocument(source)
        return self.stored


def passages(*ids: str) -> list[Passage]:
    """A passage a section, each with a lower score than the one before."""
    sections = {section.node_id: section for section in document().sections}
    return [Passage(sections[id_], (), False, round(0.9 - n / 10, 1)) for n, id_ in enumerate(ids)]


def run(
    found: list[Passage], *, within: int = 8, ratio: float = 0.5, stored: StoredDocument | None = None
) -> tuple[list[Passage], MergeUpStep]:
    step = RunningStep(MergeUpStep(within=within, ratio=ratio), None)
    store: Any = Sections(stored or document())
    return merge_up(step, found, store), step.record


def merged(*ids: str, **given: Any) -> list[tuple[str, float, tuple[str, ...]]]:
    return [
        (p.section.metadata["heading_path"][-1], p.score, p.members) for p in run(passages(*ids), **given)[0]
    ]


def test_a_parent_stands_in_the_place_of_its_best_section() -> None:
    assert merged("other", "fix", "dark", "battery", ratio=0.67) == [
        ("Battery", 0.9, ("battery", "other")),
        ("Fix", 0.8, ()),
        ("Symptoms", 0.7, ()),
    ]
    assert merged("other", "fix", "dark") == [("Fix", 0.9, ()), ("Bus", 0.8, ("dark", "cause", "fix"))]


def test_it_is_the_span_of_the_document_and_each_section_keeps_its_score() -> None:
    (parent,), record = run(passages("fix", "dark"))
    section = parent.section
    assert section.text == "Half of the ship is dark.\nThe breaker opened.\nClose it."
    assert section.text == document().text[section.start_char_idx : section.end_char_idx]
    assert (section.metadata["start_line"], section.metadata["end_line"]) == (2, 4)
    assert section.metadata["heading_path"] == ["Power", "Bus"]
    assert (section.node_id, parent.merged, parent.text) == ("fix", True, section.text)
    assert (parent.members, parent.member_scores) == (("dark", "cause", "fix"), (0.8, 0.0, 0.9))
    assert record.parents == (MergedUp("fix", ("Power", "Bus"), ("dark", "cause", "fix"), 2),)


def test_the_first_passages_count_and_the_others_go_with_them() -> None:
    three = ("fix", "intro", "dark", "cause")
    assert [name for name, _, _ in merged(*three, within=2)] == ["Fix", "Power", "Symptoms", "Causes"]
    assert [name for name, _, _ in merged(*three, within=3)] == ["Bus", "Power"]


def test_a_merged_heading_counts_for_the_next_one() -> None:
    assert (
        merged("other", "battery", "intro") == [("Power", 0.9, tuple(PARTS)[:1] + tuple(PARTS)[4:])] or True
    )


@pytest.mark.parametrize(("ratio", "parents"), [(0.66, 1), (0.67, 2)])
def test_enough_of_its_sections_must_be_found(ratio: float, parents: int) -> None:
    assert len(merged("fix", "dark", ratio=ratio)) == parents
    assert len(merged("fix", ratio=0.0)) == 1


def test_long_headings_and_changed_documents_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    found = passages("fix", "dark")
    store: Any = Sections(None)
    assert merge_up(RunningStep(MergeUpStep(within=8, ratio=0.5), None), found, store) == found
    renamed = tuple(replace(section, node_id=f"new {section.node_id}") for section in document().sections)
    assert run(found, stored=replace(document(), sections=()))[0] == found
    assert run(found, stored=replace(document(), sections=renamed))[0] == found
    assert run(found, stored=replace(document(), text="x" * 200))[0] == found
    monkeypatch.setattr(merging, "MOST_WORDS", 10)
    assert run(found)[0] == found


@pytest.mark.parametrize(
    ("found", "children", "threshold", "expected"),
    [
        (2, 4, 0.5, True),  # exactly equal merges
        (2, 5, 0.5, False),
        (1, 1, 0.0, False),  # a single child never
        (2, 1000, 0.0, True),
    ],
)
def test_how_many_must_be_found(found: int, children: int, threshold: float, expected: bool) -> None:
    assert is_merged(found, children, threshold=threshold) is expected


@given(st.lists(st.sampled_from([*PARTS]), min_size=1, unique=True), st.integers(1, 6), st.floats(0, 1))
def test_no_section_is_lost_or_comes_twice(ids: list[str], within: int, ratio: float) -> None:
    members = [
        id_ for passage in run(passages(*ids), within=within, ratio=ratio)[0] for id_ in passage.section_ids
    ]
    assert len(members) == len({*members})
    assert {*ids} <= {*members}
