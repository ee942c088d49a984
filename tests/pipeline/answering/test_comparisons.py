"""Comparisons: both sides with their quotes, what is said of both first, and what is missing said."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.answering.comparisons import QUOTES_A_SIDE, Comparison, compare, comparison_text
from pipeline.answering.replies import quote_citations, quote_units
from pipeline.asking.kinds import Sides
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import ENCODER, make_search, make_store

FILLER = " ".join(f"Rust is on pipe {number} behind the galley wall of deck nine." for number in range(9))
FILES = {
    "antennas.md": f"""\
# Antennas

## Dish

The dish is sharp. It follows the station. {FILLER}

## Rod

The rod hears in all directions. It needs nothing. {FILLER}

## Choice

The dish is stronger than the rod. {FILLER}
"""
}


@pytest.fixture
def antennas(tmp_path: Path) -> EmbeddedStore:
    return make_store(tmp_path, FILES)


def compared(store: EmbeddedStore, one: str, two: str) -> Comparison:
    search = make_search(store).search
    question = f"Compare the {one} and the {two}"
    return compare(Sides(one, two), search(question), search=search, store=store, encoder=ENCODER)


def test_both_sides_have_their_own_quotes(antennas: EmbeddedStore) -> None:
    found = compared(antennas, "dish", "rod")
    assert found.missing == ()
    dish, rod = found.sides
    assert any("It follows the station." in quote.text for quote in dish.quotes)
    assert any("hears in all directions" in quote.text for quote in rod.quotes)
    assert max(len(dish.quotes), len(rod.quotes)) <= QUOTES_A_SIDE


def test_what_compares_them_goes_first_and_is_said_once(antennas: EmbeddedStore) -> None:
    found = compared(antennas, "dish", "rod")
    assert "The dish is stronger than the rod." in found.quotes[0].text
    assert sum("stronger than" in quote.text for quote in found.quotes) == 1


def test_a_side_that_the_documents_do_not_have_is_named(antennas: EmbeddedStore) -> None:
    found = compared(antennas, "dish", "banana")
    assert found.missing == ("banana",)
    assert found.sides[0].quotes
    assert found.both == found.sides[1].quotes == ()


def test_rows_are_compared_under_the_header_of_their_table(tmp_path: Path) -> None:
    rows = "".join(f"| part {number} | {number} kPa at the {FILLER} |\n" for number in range(4))
    rows += "| dish | 9 kPa |\n| rod | 7 kPa |\n"
    store = make_store(
        tmp_path, {"limits.md": f"# Limits\n\nThey are:\n\n| Part | Limit |\n|---|---|\n{rows}"}
    )
    found = compared(store, "dish", "rod")
    units = quote_units(found.quotes)
    assert units[0].lead.endswith("| Part | Limit |\n|---|---|")
    text = comparison_text(found, quote_citations(found.quotes, {}), units)
    assert "> They are:\n>\n> | Part | Limit |\n> |---|---|\n> |" in text
    assert "… " in text
    store.close()


def test_rows_of_one_table_that_are_far_apart_are_each_in_its_side(tmp_path: Path) -> None:
    """Both sides quote some rows, and share those in the middle: neither quote stands for both."""
    about = "made of steel and brass, bolted to the frame behind the galley wall of the deck"
    names = ("base", "dish", *(f"part{number}" for number in range(5)), "rod", "end")
    rows = "".join(f"| {name} | {about} |\n" for name in names)
    store = make_store(tmp_path, {"limits.md": f"# Limits\n\n| Part | About |\n|---|---|\n{rows}"})
    found = compared(store, "dish", "rod")
    assert found.both == ()
    assert "| dish |" in found.sides[0].quotes[0].text
    assert "| rod |" in found.sides[1].quotes[0].text
    store.close()
