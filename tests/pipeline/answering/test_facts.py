"""Facts that are compared exactly."""

from __future__ import annotations

import pytest

from pipeline.answering.exact_facts import facts_of, missing_numbers


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
        ("0.3 kPa per day", "0.3 kPa per hour", ["0.3 kpa", "per d"]),
        ("checked once a day", "checked every hour", ["per d"]),
        ("runs hourly", "runs every hour", []),
        ("given in milliseconds", "given in seconds", ["in ms"]),
        ("5 minutes", "5 shards", ["5 min"]),
        ("24 hours", "24 person-hours", []),
        ("two attempts", "three tries", ["2"]),
        ("as follows: 1.", "follow the steps", []),
        ("1.5 kPa an hour", "1.5 kPa per hour", []),
        ("60 minutes", "an hour", []),
        ("about 85 minutes", "an hour and a half", []),
        ("85 minutes", "an hour and a half", ["85 min"]),
        ("164 minutes", "2 hours 44 minutes", []),
        ("34 %", "29 % and 5 %", []),
        ("half a day", "12 hours", []),
        ("one bit", "one byte", ["1 bit"]),
        ("one hour off", "off for one", []),
        ("four reasons", "three reasons", ["4"]),
        ("two integers", "integers", []),
        ("six cartridges", "day 6: eight cartridges", ["6"]),
        ("version 1.2.3", "version 1.2.4", []),
    ],
)
def test_numbers_with_their_units(stated: str, given: str, missing: list[str]) -> None:
    assert missing_numbers(facts_of(stated), facts_of(given)) == missing


def test_identifiers_and_commands() -> None:
    facts = facts_of("Do not open `valve  OPEN` of ECS-LN2-T2 after C-112 of v2.1, and press `?`.")
    assert facts.identifiers == {"ecs-ln2-t2", "c-112", "v2.1"}
    assert facts.commands == {"valve open"}
    assert facts_of("Open the self-test of the CO2 bed.").identifiers == set()
