"""Misspelt words are corrected, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from pipeline.analysis import analyse
from pipeline.asking.spelling import misspelt, with_words
from pipeline.steps.records import CorrectStep
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.vocabulary import count_words
from tests.pipeline.searching import make_search, the_step

TEXT = (
    "The fuel cell needs a warm-up. The breaker of the fuel cell is beside the valve; the valve leaks. "
    "A borrow checker error of the temperature sensor. Cabin pressure, pressure regulator. An executed step. "
) * 20 + "After splashdown the hatch opens. An index out of bounds."


class Words:
    """A `SentenceIndex` of one text, as far as spelling asks for it."""

    def __init__(self, text: str = TEXT) -> None:
        self._text = text
        self._terms = frozenset(analyse(text))
        self._vocabulary = count_words([text])

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        return frozenset(terms) - self._terms

    def vocabulary(self) -> Any:
        return self._vocabulary


def corrected(question: str, text: str = TEXT) -> str:
    return with_words(question, misspelt(question, Words(text)))  # type: ignore[arg-type]


ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_of_strangers_questions_on_the_manuals_most_are_corrected_and_none_is_changed_otherwise() -> None:
    """Written before the correction was; the three that are left ask for words that English has, too."""
    lines = (ROOT / "evals/data/spelling/questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["corpus"] == "manuals"]
    manuals = sorted((ROOT / "docs_corpus").rglob("*.md"))
    words = Words("\n".join(path.read_text(encoding="utf-8") for path in manuals))
    right = 0
    for row in rows:
        got = with_words(row["text"], misspelt(row["text"], words))  # type: ignore[arg-type]
        assert got in (row["text"], row["corrected"])
        right += got == row["corrected"]
    assert right >= 23, "of 26 that are misspelt"


def test_what_is_pasted_is_left() -> None:
    assert corrected("fule " * 200) == "fule " * 200
    assert corrected("") == ""


def test_unsure_is_left() -> None:
    assert corrected("the zanyor", "The zantor turns. The zandor stands. " * 9) == "the zanyor"
    assert corrected("the zanyor", "The zantor turns. " * 9) == "the zantor"


def test_a_long_word_may_have_its_vowels_wrong_or_elsewhere() -> None:
    assert corrected("the vehical", "The vehicle turns. " * 9) == "the vehicle"
    assert corrected("the vihecal", "The valve turns. " * 9 + "The vocal.") == "the vihecal"


def test_a_compound_may_begin_with_one_letter() -> None:
    assert corrected("whats sband", "The S-band key. " * 9) == "whats s-band"
    assert corrected("whats sband", "The band plays. " * 9) == "whats sband"


def test_the_documents_may_be_in_another_language() -> None:
    german = "Das Ventil ist in der Kabine und die Pumpe ist nicht bei dem Ventil. " * 20
    assert corrected("Wo ist das ventlil in der Kabine?", german) == "Wo ist das ventil in der Kabine?"


def test_a_search_is_for_the_corrected_question_and_says_so(manual: EmbeddedStore) -> None:
    found = make_search(manual).search("nitrogn in the oxigen tank")
    assert (found.question, found.asked) == ("nitrogen in the oxygen tank", "nitrogn in the oxigen tank")
    step = the_step(found, CorrectStep)
    assert (step.question, step.corrected) == (found.asked, found.question)
    assert [(word.wrong, word.right) for word in step.words] == [
        ("nitrogn", "nitrogen"),
        ("oxigen", "oxygen"),
    ]
    same = make_search(manual).search("nitrogen in the oxygen tank")
    assert (same.asked, the_step(same, CorrectStep).corrected) == ("", "")
    assert [passage.score for passage in same.passages] == [passage.score for passage in found.passages]


def test_it_can_be_switched_off(manual: EmbeddedStore) -> None:
    found = make_search(manual, spelling=False).search("nitrogn")
    assert (found.question, found.asked) == ("nitrogn", "")
    assert the_step(found, CorrectStep).status == "skipped"


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("whats the min cabin pressure", "whats the minimum cabin pressure"),
        ("flow max of the pump", "flow maximum of the pump"),
        ("wait 5 min", "wait 5 min"),
        ("flow in L/min", "flow in L/min"),
        ("what is `max` for", "what is `max` for"),
    ],
)
def test_words_cut_short_are_read_in_full_though_the_documents_have_them_as_units(
    question: str, meant: str
) -> None:
    text = "The pump gives 4 L/min, a minimum of 3, a maximum of 5. Wait for a min or max."
    assert corrected(question, text) == meant


def test_a_word_cut_short_is_left_where_the_documents_do_not_have_it_in_full() -> None:
    assert corrected("the min pressure", "The pressure in a min.") == "the min pressure"
