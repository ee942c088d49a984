"""Merging upwards: which sections a heading replaces, on a document made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipeline.answer import Passage
from pipeline.errors import UnknownDocument
from pipeline.finding import merging
from pipeline.finding.merging import join_introductions, merge_up
from pipeline.nodes import StoredNode
from pipeline.steps.records import Step
from pipeline.stores.base import DocumentInfo, StoredDocument

PARTS = {  # id of the section: its heading path, its text
    "intro": (("Power",), "Power procedures."),
    "dark": (("Power", "Bus", "Symptoms"), "Half of the *ship* is dark."),
    "cause": (("Power", "Bus", "Causes"), "The breaker opened."),
    "fix": (("Power", "Bus", "Fix"), "Close it."),
    "battery": (("Power", "Battery"), "It is low."),
    "other": (("Power", "Battery", "Fix"), "Use the other battery."),
    "again": (("Power", "Battery"), "Another battery."),
}
SHOWN = {"dark": "Half of the \u2060ship\u2060 is dark."}


def document() -> StoredDocument:
    text, sections = "", []
    for order, (id_, (path, own)) in enumerate(PARTS.items()):
        lines = {"start_line": order + 1, "end_line": order + 1}
        metadata = {"source": "power.md", "heading_path": [*path], "order": order, **lines}
        metadata |= {"shown": SHOWN[id_]} if id_ in SHOWN else {}
        end = len(text) + len(own)
        sections.append(StoredNode(id_, own, metadata, len(text), end, "d", "", (f"{id_}/0",)))
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
    found: list[Passage], stored: StoredDocument | None, *, within: int = 8, question: str = "tank"
) -> tuple[list[Passage], Step]:
    step, store = Step("merge_up", data={"within": within}), Sections(stored)
    return merge_up(step, found, question, store), step  # type: ignore[arg-type]


def merged(*ids: str, **given: Any) -> list[tuple[str, float, tuple[str, ...]]]:
    found, _ = run(passages(*ids), document(), **given)
    return [(p.section.metadata["heading_path"][-1], p.score, tuple(p.members)) for p in found]


def test_a_parent_stands_in_the_place_of_its_best_section() -> None:
    bus, battery = ("dark", "cause", "fix"), ("battery", "other", "again")
    assert merged("other", "fix", "dark") == [("Fix", 0.9, ()), ("Bus", 0.8, bus)]
    assert merged("other", "battery") == [("Battery", 0.9, battery)]  # "again" has the same heading path
    assert merged("fix", "dark", question="the fix?")[0] == ("Fix", 0.9, ())  # a heading that says all


def test_it_climbs_past_a_heading_without_text_of_its_own() -> None:
    assert merged("fix", "dark", "intro") == [("Power", 0.9, tuple(PARTS))]  # Bus, and then Bus and intro
    assert merged("fix", "dark", "other", "battery") == [("Power", 0.9, tuple(PARTS))]
    assert [name for name, _, _ in merged("fix", "intro", "dark", within=2)] == ["Fix", "Power", "Symptoms"]


def test_it_is_the_span_of_the_document_and_each_section_keeps_its_score() -> None:
    (parent,), record = run(passages("fix", "dark"), document())
    section = parent.section
    assert section.text == "Half of the *ship* is dark.\nThe breaker opened.\nClose it."
    assert section.text == document().text[section.start_char_idx : section.end_char_idx]
    shown = section.metadata["shown"]
    assert shown == section.text.replace("*", "\u2060") and len(shown) == len(section.text)
    assert (section.metadata["start_line"], section.metadata["end_line"]) == (2, 4)
    assert (section.node_id, parent.merged, parent.text) == ("fix", True, section.text)
    assert parent.members == {"dark": 0.8, "cause": 0.0, "fix": 0.9}
    assert record.data["parents"] == [
        {"section_id": "fix", "heading_path": ["Power", "Bus"], "members": ("dark", "cause", "fix")}
    ]


def test_long_headings_and_changed_documents_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    found, stored = passages("fix", "dark"), document()
    renamed = tuple(replace(section, node_id=f"new {section.node_id}") for section in stored.sections)
    changed = [{"sections": ()}, {"sections": renamed}, {"text": "x" * 200}]
    for other in (None, *(replace(stored, **change) for change in changed)):
        assert run(found, other)[0] == found
    monkeypatch.setattr(merging, "MOST_WORDS", 10)
    assert run(found, stored)[0] == found


@pytest.mark.parametrize(
    ("ids", "members"),
    [
        (("dark", "intro"), [("intro", "dark")]),  # deeper, and the next section
        (("battery", "fix", "other"), [("battery", "other"), ()]),
        (("intro", "fix"), [(), ()]),  # others stand between them
        (("dark", "cause"), [(), ()]),  # neither heading is above the other
    ],
)
def test_an_introduction_and_the_section_below_it_are_one(
    ids: tuple[str, ...], members: list[tuple[str, ...]]
) -> None:
    found = join_introductions(passages(*ids), Sections(document()))  # type: ignore[arg-type]
    assert [tuple(passage.members) for passage in found] == members
    section, text = found[0].section, document().text
    assert section.text == text[section.start_char_idx : section.end_char_idx]
    assert (section.node_id, found[0].score) == (ids[0], 0.9)


def test_an_introduction_stays_alone_where_it_is_long_or_its_document_changed_or_went(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, changed = passages("intro", "dark"), document()
    for stored in (None, replace(changed, text=changed.text.replace("ship", "boat"))):
        assert join_introductions(found, Sections(stored)) == found  # type: ignore[arg-type]
    monkeypatch.setattr(merging, "INTRODUCTION", 10)
    assert join_introductions(found, Sections(changed)) == found  # type: ignore[arg-type]
