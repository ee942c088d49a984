"""The signals of a sentence: what it rests on, and what is missing there."""

from __future__ import annotations

from pipeline.answering.sentence_support import Evidence, Signals, signals_of
from tests.pipeline.answering.evidences import ENCODER, evidence

MANUAL = ["The cabin fan hums at 4000 rpm.", "A broken fan shows OFFLINE."]
POWER = ["Fuel cells feed bus A.", "The heater draws 140 W from bus A."]


def signals(sentence: str, given: Evidence) -> Signals:
    return signals_of(sentence, ENCODER.encode_query(sentence), given)


def test_a_sentence_rests_on_the_leaf_that_has_its_words() -> None:
    found = signals("A fan that is broken shows OFFLINE", evidence(POWER, MANUAL))
    assert [(leaf.number, leaf.text) for leaf in found.leaves] == [(2, "A broken fan shows OFFLINE.")]
    assert found.coverage == 1
    assert all(value == 0 for name, value in found.values.items() if name != "far")


def test_two_leaves_together_cover_what_one_does_not() -> None:
    found = signals("The cabin fan hums at 4000 rpm, and OFFLINE shows that it is broken", evidence(MANUAL))
    assert len(found.leaves) == 2
    assert found.coverage == 1


def test_headings_and_a_tables_header_belong_to_the_leaf() -> None:
    row = evidence(["| P-1 | 5 |"], headings=("Pumps",), header="| Part | Pressure, kPa |")
    assert signals("Pumps: the pressure of P-1 is 5", row).coverage == 1
    assert signals("Pumps: the pressure of P-1 is 6", row).numbers == ("6",)
    assert (
        signals("C-112 means low power", evidence(["It means low power."], headings=("C-112",))).names == ()
    )


def test_numbers_may_stand_in_another_leaf_of_the_same_thing() -> None:
    given = evidence(["A ship has many a heater, and each heater has its breaker."], [*POWER])
    assert signals("Each heater has a breaker and draws 140 W", given).numbers == ()
    assert signals("Each heater has a breaker and draws 150 W", given).numbers == ("150 W",)


def test_an_id_is_not_found_in_a_longer_one() -> None:
    assert signals("Check the valve P-1 now", evidence(["Check the valve P-10 now."])).names == ("P-1",)


def test_an_id_without_a_hyphen_that_is_nowhere_is_missing() -> None:
    given = evidence(["Breaker K12 feeds the greenhouse fan."], ["The pump runs at 4200 rpm."])
    assert signals("Breaker Q99 feeds the pump.", given).missing == ("Q99",)
    assert signals("Breaker K12 feeds the greenhouse fan.", given).missing == ()


def test_a_sentence_of_other_words_is_uncovered_and_far() -> None:
    values = signals("Bananas grow in warm countries", evidence(MANUAL, POWER)).values
    assert values["uncovered"] == 1
    assert values["far"] > 0.3


def test_what_is_missing_is_named() -> None:
    found = signals("The cabin fan P-7 hums at 5000 rpm with `fan on`", evidence(MANUAL))
    assert found.missing == ("5000", "P-7", "fan on")
