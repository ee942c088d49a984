"""What is read in a text without a model: entities, relations, days, and signs of questions."""

from __future__ import annotations

from datetime import datetime

import pytest

from memory.entities import entities_in, normalised, relations_in
from memory.questions import asks, corrects, is_of_answers, is_personal, only_asks
from memory.times import meant_day

WEDNESDAY = datetime(2026, 3, 18, 15, 0).astimezone().timestamp()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Pump C-105 feeds W-202.", ["C-105", "W-202"]),
        ("My brother Karl lives in Bergen.", ["Karl", "Bergen"]),
        ("Karl Olsen works at Acme.", ["Karl Olsen", "Acme"]),
        ("The pump is off. It hums.", []),
        ("I met Ada yesterday, and I like tea.", ["Ada"]),
        ("Version 2.1.0 is out.", ["2.1.0"]),
        ("What does Ida's cat eat?", ["Ida"]),
    ],
)
def test_entities_are_ids_and_capitalised_names(text: str, names: list[str]) -> None:
    found = entities_in(text)
    assert [item.name for item in found] == names
    assert all(text[item.start : item.end] == item.name for item in found)


def test_a_place_follows_its_preposition() -> None:
    kinds = {item.name: item.kind for item in entities_in("Karl lives in Bergen with Ida.")}
    assert kinds == {"Karl": "name", "Bergen": "place", "Ida": "name"}


@pytest.mark.parametrize(
    ("text", "relations"),
    [
        ("Karl lives in Bergen.", [("Karl", "lives in", "Bergen")]),
        ("C-105 feeds W-202, which hums.", [("C-105", "feeds", "W-202")]),
        ("Ada Lovelace works for Siemens", [("Ada Lovelace", "works at", "Siemens")]),
        ("Does C-105 feed W-202?", []),
        ("Karl hates Bergen.", []),
    ],
)
def test_eight_verbs_relate_two_entities(text: str, relations: list[tuple[str, str, str]]) -> None:
    assert [(item.subject, item.label, item.object) for item in relations_in(text)] == relations


def test_equal_things_have_one_normalised_name() -> None:
    assert normalised("The Cabin  Fan") == normalised("cabin fan.") == "cabin fan"
    assert normalised("Ida’s") == "ida"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("I was there yesterday", "yesterday: Tuesday 17 March 2026"),
        ("see you tomorrow", "tomorrow: Thursday 19 March 2026"),
        ("we met two weeks ago", "two weeks ago: Wednesday 4 March 2026"),
        ("the exam is in 3 days", "in 3 days: Saturday 21 March 2026"),
        ("back next friday", "next friday: Friday 20 March 2026"),
        ("next wednesday then", "next wednesday: Wednesday 25 March 2026"),
        ("last monday was hard", "last monday: Monday 16 March 2026"),
        ("last wednesday", "last wednesday: Wednesday 11 March 2026"),
        ("the exam is on 3 May", "3 May: Sunday 3 May 2026"),
        ("the exam is on January 9th", "January 9th: Saturday 9 January 2027"),
        ("I was born on 3 May", ""),
        ("on 3 May 2020 it rained", ""),
        ("the 30 February never comes", ""),
        ("nothing is dated here", ""),
    ],
)
def test_a_relative_day_counts_from_when_it_was_said(text: str, meant: str) -> None:
    assert meant_day(text, WEDNESDAY) == meant
    assert meant_day(text, None) == ""


@pytest.mark.parametrize(
    ("message", "signs"),
    [
        ("where is my bunk", "asks personal only"),
        ("the pod crashes, what do I do", ""),
        ("The tank is OFFLINE. What is the reason?", "asks only"),
        ("My bunk is B-2. Where is it?", "asks personal"),
        ("I live in Oslo", "personal"),
        ("The pump is off", ""),
        ("how do I open the valve", "asks only"),
        ("oops 83", "corrects"),
        ("actually, it changes on Tuesday", "corrects"),
    ],
)
def test_signs_of_a_message(message: str, signs: str) -> None:
    found = {
        "asks": asks(message),
        "only": only_asks(message),
        "personal": is_personal(message),
        "corrects": corrects(message),
    }
    assert {name for name, holds in found.items() if holds} == {*signs.split()}


def test_a_question_about_what_the_assistant_said() -> None:
    assert is_of_answers("What did you recommend for the pump?")
    assert not is_of_answers("What did I tell you about the pump?")
