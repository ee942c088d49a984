"""Numbers, ids and commands are compared as they are written, in any language."""

from __future__ import annotations

import pytest

from pipeline.answering.literals import literals_of, missing_names, missing_numbers


def test_identifiers_and_commands() -> None:
    found = literals_of("Do not open `valve  OPEN` of ECS-LN2-T2 after C-112 of v2.1, and press `?`.")
    assert found.identifiers == {"ecs-ln2-t2", "c-112", "v2.1"}
    assert found.commands == {"valve open"}
    assert literals_of("Breaker Q99 feeds slot V1.").identifiers == {"q99", "v1"}
    assert literals_of("Open the self-test of the CO2 bed: O2 or N2.").identifiers == set()
    for text in ("ECS-CPR-V1 opens.", "all-MiniLM-L6-v2", "release-notes-3.8.0.md", "S3-compatible"):
        assert missing_names(literals_of(text), literals_of(text), text, text) == []
    assert missing_names(literals_of("P-1"), literals_of("P-10"), "P-10", "P-10") == ["P-1"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,000 W and 5.0 kPa", {("1000", "W"), ("5", "kPa")}),
        ("Von 5-10 bar bis 60-Liter", {("5", ""), ("10", ""), ("60", "")}),
        ("−3 °C is -3", {("-3", "°C"), ("-3", "")}),
        ("5kPa, 50%, 3 Pumpen", {("5", "kPa"), ("50", "%"), ("3", "")}),
        ("1. Close it.\n2. Wait 3 minutes.", {("3", "")}),
        ("part ECS-9 of version 1.2.3", set()),
        ("version 2.5 of 1.5", {("2.5", ""), ("1.5", "")}),
    ],
)
def test_numbers(text: str, numbers: set[tuple[str, str]]) -> None:
    assert literals_of(text).numbers == numbers


@pytest.mark.parametrize(
    ("stated", "given", "missing"),
    [
        ("5 kPa", "5.0 kPa", []),
        ("5 kPa", "5 kilopascals", []),
        ("5 kPa", "5 Pa", ["5 kPa"]),
        ("5 kPa", "5 Pa of 5 kPa", []),
        ("72 h", "27 h", ["72"]),
    ],
)
def test_a_number_with_another_sign_is_missing(stated: str, given: str, missing: list[str]) -> None:
    assert missing_numbers(literals_of(stated), literals_of(given)) == missing
