"""Facts that are compared exactly."""

from __future__ import annotations

from pipeline.answering.exact_facts import facts_of


def test_identifiers_and_commands() -> None:
    facts = facts_of("Do not open `valve  OPEN` of ECS-LN2-T2 after C-112 of v2.1, and press `?`.")
    assert facts.identifiers == {"ecs-ln2-t2", "c-112", "v2.1"}
    assert facts.commands == {"valve open"}
    assert facts_of("Breaker Q99 feeds slot V1.").identifiers == {"q99", "v1"}
    assert facts_of("Open the self-test of the CO2 bed: O2 or N2.").identifiers == set()
