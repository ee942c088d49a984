"""Relations are read of statements alone, at most eight of a text."""

from __future__ import annotations

import pytest

from memory.extracting import relations_in
from memory.extracting.relations import MOST


def stated(text: str) -> list[tuple[str, str, str]]:
    return [(one.subject, one.label, one.object) for one in relations_in(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Error E0382 occurs in the function `take_twice`.",
            ("Error E0382", "occurs in", "function take_twice"),
        ),
        ("The filter cartridge is part of the water loop.", ("filter cartridge", "part of", "water loop")),
        ("The pump P-301 is powered by motor M-12.", ("pump P-301", "powered by", "motor M-12")),
        ("The workshop is located in Rotterdam.", ("workshop", "located in", "Rotterdam")),
        ("A leak in line 4 causes alarm C-134.", ("leak", "causes", "alarm C-134")),
        ("Alarm C-134 is caused by a leak.", ("leak", "causes", "Alarm C-134")),
        ("A computer depends on the coolant pump in slot 3.", ("computer", "requires", "coolant pump")),
        ("Marta Weiss studied geology in Tartu.", ("Marta Weiss", "studied", "geology")),
        ("C-502 means that no station answers.", ("C-502", "means", "no station answers")),
        ("- **LOX**: liquid oxygen; it boils.", ("LOX", "means", "liquid oxygen")),
        ("The valve V-17 is not part of the line.", ("valve V-17", "not part of", "line")),
        ("The controller does not need the memory.", ("controller", "not requires", "memory")),
    ],
)
def test_labels(text: str, expected: tuple[str, str, str]) -> None:
    assert stated(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The tank T-1 holds 58 kg of oxygen each at 6150 kPa.", [("tank T-1", "contains", "oxygen")]),
        ("The tank T-1 holds 60 litres.", []),
        ("Adding the line causes an alarm.", []),
        ("The rule has two consequences.", []),
        ("The function we've wrapped returns a value.", []),
        ("We read the file and then just include the header.", []),
        ("Its heaters are part of its 80 W.", []),
        ("The valve V-2 holds the pressure at 12 kPa.", [("valve V-2", "controls", "pressure")]),
    ],
)
def test_measures_deeds_and_vague_words_are_no_ends(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert stated(text) == expected


@pytest.mark.parametrize("asked", ["Remember that ", "Thanks. Please remember that ", "note that "])
def test_what_is_asked_to_be_remembered_states_what_it_states(asked: str) -> None:
    text = f"{asked}the pump P-301 is powered by motor M-12."
    (relation,) = relations_in(text)
    assert (relation.subject, relation.label, relation.object) == ("pump P-301", "powered by", "motor M-12")
    assert text[relation.start : relation.end].startswith(("the pump", "pump"))


def test_a_denied_relation_says_so() -> None:
    (relation,) = relations_in("The valve V-17 is not part of the line.")
    assert relation.negated


def test_a_second_verb_keeps_the_subject() -> None:
    assert stated("Kofi Mensah studied at MIT and lives in Accra.") == [
        ("Kofi Mensah", "studied at", "MIT"),
        ("Kofi Mensah", "lives in", "Accra"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Does the leak cause alarm C-134?",
        "If the charger fails, the battery needs the inverter.",
        "The leak might cause an alarm.",
        "It needs the pump.",
        "A fuel cell needs 20 minutes.",
        "## The pump is part of the loop",
        "| The pump | is part of the loop |",
        "```\nThe pump is part of the loop.\n```",
        "",
    ],
)
def test_what_states_nothing_for_sure_is_left_out(text: str) -> None:
    assert stated(text) == []


def test_at_most_eight_and_each_once() -> None:
    text = " ".join(f"The pump {number} is part of the loop {number}." for number in range(20))
    assert len(relations_in(text)) == MOST == 8
    assert len(relations_in("The pump is part of the loop. " * 3)) == 1


def test_places_are_the_texts_own() -> None:
    text = "Look: the *pump* is part of the `loop`."
    (relation,) = relations_in(text)
    assert text[relation.start : relation.end].startswith("pump")
    assert text[relation.start : relation.end].strip("`").endswith("loop")
