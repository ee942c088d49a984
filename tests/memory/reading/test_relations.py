"""Relations are read of statements alone, at most eight of a text."""

from __future__ import annotations

from memory.reading.relations import MOST, relations_in
from tests.memory.tables import rows


def stated(text: str) -> list[tuple[str, str, str]]:
    return [(one.subject, one.label, one.object) for one in relations_in(text)]


def test_relations_are_of_what_is_stated_for_sure() -> None:
    """Each row: the text; subject, label and object of each relation."""
    wrong = []
    for text, *expected in [*rows("reading/relations.tsv"), [""]]:
        found = [part for relation in stated(text) for part in relation]
        wrong += [(text, found)] if found != expected else []
    assert wrong == []


def test_a_denied_relation_says_so() -> None:
    (relation,) = relations_in("The valve V-17 is not part of the line.")
    assert relation.label == "not part of"


def test_at_most_eight_and_each_once() -> None:
    text = " ".join(f"The pump {number} is part of the loop {number}." for number in range(20))
    assert len(relations_in(text)) == MOST == 8
    assert len(relations_in("The pump is part of the loop. " * 3)) == 1


def test_places_are_the_texts_own() -> None:
    text = "Look: the *pump* is part of the `loop`."
    (relation,) = relations_in(text)
    assert text[relation.start : relation.end].startswith("pump")
    assert text[relation.start : relation.end].strip("`").endswith("loop")
