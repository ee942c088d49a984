"""Merging upwards: what stands for what, on a real store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pipeline.answer import Passage
from pipeline.finding import merging
from pipeline.finding.merging import merge_up
from pipeline.finding.tree import Trees, heading_path
from pipeline.steps.records import MergeUpStep
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import make_search, make_store, section_named, the_step

FILES = {
    "power.md": """\
# Power procedures

Power procedures bring light back.

## P-EPS-01: Main bus lost

### Symptoms of a lost bus

Half of the ship is dark.

### Causes of a lost bus

The breaker opened.

### Fix for a lost bus

1. Close the breaker.
2. Shed load.

## P-EPS-02: Battery low

### Symptoms of a low battery

The charge is below 15 %.

### Fix for a low battery

Use the other battery.
""",
    "loose.md": "One\n===\n\nThe first half.\n\nTwo\n===\n\nThe second half.\n",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStore]:
    store = make_store(tmp_path_factory.mktemp("tree"), FILES)
    yield store
    store.close()


def passages_of(store: EmbeddedStore, headings: Sequence[str]) -> list[Passage]:
    """A passage for each heading, each with a lower score than the one before."""
    ids = [section_named(store, heading) for heading in headings]
    sections = store.sections.get_many(ids)
    return [
        Passage(sections[section_id], (), False, round(0.9 - rank / 10, 1))
        for rank, section_id in enumerate(ids)
    ]


def merged(
    store: EmbeddedStore, *headings: str, within: int = 8, ratio: float = 0.5
) -> list[tuple[str, float, int]]:
    """Each passage's own heading, score and number of sections."""
    found = merge_up(passages_of(store, headings), trees=Trees(store.sections), within=within, ratio=ratio)
    return [(heading_path(passage)[-1], passage.score, len(passage.section_ids)) for passage in found]


def test_a_parent_stands_in_the_place_of_its_best_section(store: EmbeddedStore) -> None:
    found = merged(store, "One", "Fix for a lost bus", "Two", "Symptoms of a lost bus")
    assert found == [("One", 0.9, 1), ("P-EPS-01: Main bus lost", 0.8, 3), ("Two", 0.7, 1)]


def test_its_text_is_the_documents_in_order_with_the_headings_inside(store: EmbeddedStore) -> None:
    passages = passages_of(store, ["Fix for a lost bus", "Symptoms of a lost bus"])
    (parent,) = merge_up(passages, trees=Trees(store.sections), within=8, ratio=0.5)
    document = store.sections.document("power.md")
    section = parent.section
    assert section.text == document.text[section.start_char_idx : section.end_char_idx]
    assert section.text.startswith("### Symptoms of a lost bus\n\nHalf of the ship is dark.")
    assert section.text.endswith("2. Shed load.")
    lines = document.text.splitlines()
    first, last = section.metadata["start_line"], section.metadata["end_line"]
    assert "\n".join(lines[first - 1 : last]) == section.text
    assert section.metadata["heading_path"] == ["Power procedures", "P-EPS-01: Main bus lost"]
    assert section.node_id == passages[0].section.node_id
    assert (parent.merged, parent.whole, parent.text) == (True, True, section.text)


def test_each_of_its_sections_keeps_its_own_score(store: EmbeddedStore) -> None:
    passages = passages_of(store, ["Fix for a lost bus", "Symptoms of a lost bus"])
    (parent,) = merge_up(passages, trees=Trees(store.sections), within=8, ratio=0.5)
    assert parent.members == tuple(
        section_named(store, f"{part} a lost bus") for part in ("Symptoms of", "Causes of", "Fix for")
    )
    assert parent.member_scores == (0.8, 0.0, 0.9)
    assert parent.score_of(parent.members[0]) == 0.8
    assert passages[0].score_of(passages[0].section.node_id) == 0.9


@pytest.mark.parametrize(("ratio", "parents"), [(0.66, 1), (0.67, 2)])
def test_enough_of_its_sections_must_be_found(store: EmbeddedStore, ratio: float, parents: int) -> None:
    assert len(merged(store, "Fix for a lost bus", "Symptoms of a lost bus", ratio=ratio)) == parents


def test_one_section_is_not_enough_whatever_the_ratio(store: EmbeddedStore) -> None:
    assert merged(store, "Fix for a lost bus", ratio=0.0) == [("Fix for a lost bus", 0.9, 1)]


def test_only_the_first_passages_count_but_the_others_go_with_them(store: EmbeddedStore) -> None:
    three = ("Fix for a lost bus", "One", "Symptoms of a lost bus", "Causes of a lost bus")
    assert [name for name, _, _ in merged(store, *three, within=2)] == [*three]
    assert [name for name, _, _ in merged(store, *three, within=3)] == ["P-EPS-01: Main bus lost", "One"]


def test_what_was_merged_counts_for_the_next_level(store: EmbeddedStore) -> None:
    both = (
        "Fix for a lost bus",
        "Symptoms of a lost bus",
        "Fix for a low battery",
        "Symptoms of a low battery",
    )
    assert merged(store, *both) == [("Power procedures", 0.9, 6)]


def test_a_grandparent_needs_its_children_not_theirs(store: EmbeddedStore) -> None:
    found = merged(store, "Fix for a lost bus", "Fix for a low battery", ratio=0.0)
    assert [sections for _, _, sections in found] == [1, 1]


def test_what_is_too_long_is_not_merged(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MOST_WORDS", 10)
    assert len(merged(store, "Fix for a lost bus", "Symptoms of a lost bus")) == 2


def test_sections_without_a_common_heading_stay_apart(store: EmbeddedStore) -> None:
    assert len(merged(store, "One", "Two", ratio=0.0)) == 2


def test_a_document_that_has_changed_since_is_left_as_it_was_found(tmp_path: Path) -> None:
    store = make_store(tmp_path, FILES)
    passages = passages_of(store, ["Fix for a lost bus", "Symptoms of a lost bus"])
    store.delete_document("power.md")
    assert merge_up(passages, trees=Trees(store.sections), within=8, ratio=0.5) == passages
    store.close()
    other = make_store(tmp_path / "other", FILES | {"power.md": "New.\n\n" + FILES["power.md"]})
    assert merge_up(passages, trees=Trees(other.sections), within=8, ratio=0.5) == passages
    other.close()


def test_a_search_merges_upwards_and_says_so(store: EmbeddedStore) -> None:
    question = "symptoms, causes and fix of a lost bus"
    retrieval = make_search(store, merge_up=True).search(question)
    parents = the_step(retrieval, MergeUpStep).parents
    assert [(item.heading_path, item.found, len(item.members)) for item in parents] == [
        (("Power procedures",), 6, 6)
    ]
    assert {item.section_id for item in parents} <= {item.section.node_id for item in retrieval.passages}
    off = make_search(store).search(question)
    assert the_step(off, MergeUpStep).status == "skipped"
    assert not any(passage.members for passage in off.passages)
