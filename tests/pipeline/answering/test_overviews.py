"""Outlines: what a topic names, its parts in order with their first sentences, each an exact span."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.answering.overviews import MOST_LINES, Outline, outline_of, outline_text
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import make_search, make_store

LOOP = """\
# Thermal loop

One pump moves all the coolant. It is a single loop.

## Coolant pumps

**Note.** The pumps are centrifugal pumps. They hum.

### Speed of a pump

The speed is 4200 rpm.

## Limits

| Part | Limit |
|---|---|
| pump | 5 kPa |

The table holds for flight.

## Starting the loop

Do this:

1. Open the valve.
2. Start the pump.
"""


@pytest.fixture
def loop(tmp_path: Path) -> EmbeddedStore:
    return make_store(tmp_path, {"systems/thermal.md": LOOP, "fan.md": "# Fan\n\nThe fan moves air.\n"})


def outline(store: EmbeddedStore, question: str) -> Outline | None:
    return outline_of(question, make_search(store).search(question), store=store)


def test_an_outline_has_the_parts_in_order_each_with_its_first_sentence(loop: EmbeddedStore) -> None:
    found = outline(loop, "Summarise the thermal loop")
    assert found is not None
    assert found.path == ("Thermal loop",)
    assert [(line.heading, line.quote.text) for line in found.lines] == [
        ("", "One pump moves all the coolant."),
        ("Coolant pumps", "The pumps are centrifugal pumps."),
        ("Limits", "| Part | Limit |"),
        ("Starting the loop", "Do this:\n\n1. Open the valve."),
    ]
    text = loop.sections.document("systems/thermal.md").text
    assert all(text[line.quote.start : line.quote.end] == line.quote.text for line in found.lines)


def test_an_outline_as_text_has_a_marker_a_line(loop: EmbeddedStore) -> None:
    found = outline(loop, "Summarise the thermal loop")
    assert found is not None
    assert outline_text(found).splitlines() == [
        "**Thermal loop**",
        "",
        "- One pump moves all the coolant. [1]",
        "- **Coolant pumps**: The pumps are centrifugal pumps. [2]",
        "- **Limits**: a table of Part, Limit [3]",
        "- **Starting the loop**: Do this: 1. Open the valve. … 1 more [4]",
    ]


def test_a_section_is_outlined_where_the_topic_names_it(loop: EmbeddedStore) -> None:
    found = outline(loop, "give me an overview of the coolant pumps")
    assert found is not None
    assert found.path == ("Thermal loop", "Coolant pumps")
    assert [line.heading for line in found.lines] == ["", "Speed of a pump"]


@pytest.mark.parametrize("question", ["Summarise the weather", "Tell me about the fan", "Summarise the"])
def test_what_no_heading_names_or_has_one_part_has_no_outline(loop: EmbeddedStore, question: str) -> None:
    assert outline(loop, question) is None


def test_a_word_that_names_another_topic_is_not_left_out(tmp_path: Path) -> None:
    """Two of three words are not enough where the third tells which of two systems is meant."""
    parts = "## Fan\n\nThe fan blows air.\n\n## Bed\n\nThe bed binds breath.\n"
    system = f"# Environmental control system\n\nIt is the air.\n\n{parts}"
    store = make_store(tmp_path, {"ecs.md": system, "heat.md": "# Thermal loop\n\nIt is the heat.\n"})
    assert outline(store, "Summarise the thermal control system") is None
    assert outline(store, "Summarise the whole control system") is not None
    store.close()


def test_the_place_of_a_table_of_contents_is_no_part(tmp_path: Path) -> None:
    contents = "## Table of contents\n{: .no_toc }\n\n1. TOC\n{:toc}\n\n---\n\n"
    store = make_store(
        tmp_path, {"fan.md": f"# Fan\n\nThe fan blows air.\n\n{contents}## Speed\n\nIt is 4 rpm.\n"}
    )
    found = outline(store, "Summarise the fan")
    assert found is not None
    assert [line.heading for line in found.lines] == ["", "Speed"]
    store.close()


def test_more_parts_than_fit_are_counted(tmp_path: Path) -> None:
    parts = "".join(f"## Part {number}\n\nThis is part {number}.\n\n" for number in range(MOST_LINES + 3))
    store = make_store(tmp_path, {"ship.md": f"# Ship\n\n{parts}"})
    found = outline(store, "Summarise the ship")
    assert found is not None
    assert (len(found.lines), found.more) == (MOST_LINES, 3)
    assert outline_text(found).endswith("\n\n… 3 more sections")


def test_parts_of_one_name_end(tmp_path: Path) -> None:
    """Where the only part is split again and again, it must come to an end."""
    store = make_store(
        tmp_path, {"dup.md": "# Dup\n\n## Same\n\nred.\n\n## Same\n\nblue.\n\n## Same\n\ngreen.\n"}
    )
    question = "Give me an overview of Dup"
    assert outline_of(question, make_search(store).search(question), store=store) is None
    store.close()
