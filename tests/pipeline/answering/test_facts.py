"""Facts that are compared exactly."""

from __future__ import annotations

import pytest

from pipeline.answering.facts import facts_of, missing_numbers


@pytest.mark.parametrize(
    ("stated", "given", "missing"),
    [
        ("1,000 W", "1000 W", []),
        ("1000 W", "1\u202f000 W", []),
        ("5.0 kPa", "5 kPa", []),
        ("50 %", "50 percent", []),
        ("3 min", "three minutes or 3 minutes", []),
        ("2 tanks", "two tanks", []),
        ("5 kPa", "5 bar", ["5 kpa"]),
        ("5kPa", "5 bar", ["5 kpa"]),
        ("5-10 kPa", "5 to 10 kPa", []),
        ("5-20 kPa", "5-10 kPa", ["20 kpa"]),
        ("−3 °C", "-3 °C", []),
        ("-3 °C", "3 °C", ["-3 °c"]),
        ("9 parts", "the part ECS-9", ["9"]),
        ("1. Close it.\n2. Wait.", "Close it, wait.", []),
        ("72", "27", ["72"]),
    ],
)
def test_numbers_with_their_units(stated: str, given: str, missing: list[str]) -> None:
    assert missing_numbers(facts_of(stated), facts_of(given)) == missing


def test_identifiers_commands_and_negation() -> None:
    facts = facts_of("Do not open `valve  OPEN` of ECS-LN2-T2 after C-112.")
    assert facts.identifiers == {"ecs-ln2-t2", "c-112"}
    assert facts.commands == {"valve open"}
    assert facts.negated
    assert not facts_of("Open the valve of the self-test.").negated
    assert facts_of("Open the self-test.").identifiers == set()
