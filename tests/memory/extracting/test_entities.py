"""What a text names is found with its kind, once for all ways to write it."""

from __future__ import annotations

import pytest

from memory.extracting import entities_in, normalised


def named(text: str) -> set[tuple[str, str]]:
    found = entities_in(text)
    for entity in found:
        assert " ".join(text[entity.start : entity.end].split()) == entity.name
        assert normalised(entity.name) == entity.normalised
    return {(entity.name, entity.kind.value) for entity in found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "W-202 sounds when P-GNC-01 fails and FAN-3 stops.",
            {("W-202", "id"), ("P-GNC-01", "id"), ("FAN-3", "id")},
        ),
        ("Error E0382 occurs in `take_twice`.", {("E0382", "id"), ("take_twice", "code")}),
        ("Version 3.12.1 of Python is old.", {("3.12.1", "version"), ("Python", "product")}),
        ("Edit `config/settings.toml`.", {("config/settings.toml", "path")}),
        ("Call `parse_header()` first.", {("parse_header", "code")}),
        ("My sister Hanna lives in Porto.", {("Hanna", "person"), ("Porto", "place")}),
        ("no wait my boss is Ann Vey, remeber", {("Ann Vey", "person")}),
        ("our dentist is called Hede", {("Hede", "person")}),
        ("I met Ulf Brandt yesterday", {("Ulf Brandt", "person")}),
        ("My boss is German and my doctor is British.", set()),
        (
            "Dr. Amara Osei works at Northgate Instruments.",
            {("Amara Osei", "person"), ("Northgate Instruments", "organisation")},
        ),
        ("Fan one stands beside panel 4.", {("Fan one", "part"), ("panel 4", "part")}),
    ],
)
def test_kinds(text: str, expected: set[tuple[str, str]]) -> None:
    assert named(text) == expected


@pytest.mark.parametrize(
    "heading",
    [
        "Key Differences",
        "# Key Differences",
        "Best Practices for Error Handling",
        "Common Mistakes",
        "Getting Started",
        "Quick Start Guide",
    ],
)
def test_a_heading_names_nobody(heading: str) -> None:
    assert named(heading) == set()


def test_what_is_counted_is_no_part() -> None:
    assert named("Chapter 6 and Listing 8-21 of Table 3 take 5 minutes.") == set()


def test_code_in_fences_and_addresses_name_nothing() -> None:
    assert named("```\nW-202\n```\nsee https://example.org/W-202/x.md") == set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C105", "C-105"),
        ("C 105", "c-105"),
        ("fan one", "Fan 1"),
        ("the cabin fan", "Cabin  Fan"),
        ("`parse()`", "parse"),
        ("*Halcyon*", "halcyon"),
        ("Rust’s", "rust"),
    ],
)
def test_names_are_equal_however_they_are_written(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


def test_other_things_keep_other_names() -> None:
    assert normalised("fan 1") != normalised("fan 2")
    assert normalised("in 2024") == "in 2024"


def test_an_abbreviation_in_brackets_is_an_alias() -> None:
    full, short = entities_in("The Carbon Dioxide Removal Assembly (CDRA) hums.")
    assert (full.normalised, full.aliases) == ("carbon dioxide removal assembly", ("cdra",))
    assert (short.normalised, short.aliases) == ("cdra", ("carbon dioxide removal assembly",))
