"""Misspelt words are corrected, and nothing else is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from pipeline.analysis import analyse
from pipeline.asking.spelling import misspelt, with_words
from pipeline.steps.records import CorrectStep
from pipeline.stores.base import Hit, SearchRequest, SearchResponse
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

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        return frozenset(terms) - self._terms

    def vocabulary(self) -> Any:
        return count_words([self._text])

    def search(self, request: SearchRequest) -> SearchResponse:
        return SearchResponse((), (Hit("s", "s", 1.0),), (), ())

    def get_many(self, node_ids: Collection[str]) -> Any:
        node = type("Node", (), {"text": self._text})
        return dict.fromkeys(node_ids, node)


def corrected(question: str, text: str = TEXT) -> str:
    return with_words(question, misspelt(question, Words(text)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("fule cell warmup", "fuel cell warm-up"),  # two letters swapped; a hyphen left out
        ("borow checker eror", "borrow checker error"),  # letters that should be doubled
        ("tempreture sensor?", "temperature sensor?"),  # two edits of a long word
        ("Presure regulater!", "Pressure regulator!"),  # the capital and the marks stay
        ("the vavle (cabin presure) leaks", "the valve (cabin pressure) leaks"),
        ("wehn does the valve leak", "when does the valve leak"),  # no document need have a small word
        ("where is the fuelcell", "where is the fuel cell"),
        ("valves leaking", "valves leaking"),  # other forms of what is there
        ("wat is teh valve", "what is the valve"),  # small words, by a letter swapped or left out
        ("wich valve shoud leak, hwo mutch", "which valve should leak, how much"),
        ("fuel cell vlve", "fuel cell valve"),  # unsure by itself, but beside these words
        ("index out of bouns", "index out of bounds"),  # no bonus: the documents have none
        ("when do we splsh down", "when do we splashdown"),  # written as one in the documents
        ("splash down", "splashdown"),
    ],
)
def test_misspelt_words_are_corrected(question: str, right: str) -> None:
    assert corrected(question) == right


@pytest.mark.parametrize(
    "question",
    [
        "run `fule` now",  # code
        "what is ```\nfule\n``` doing",
        "FULE-01 and FULE and Fule and fuLe",  # the first word alone may have a capital: see below
        "fule.md or fule/cell or fule_cell or fule2 or fule()",
        'it said "fule eror"',
        "nad fue vlv te",  # short
        "kubernetes kubectl postgres",  # like nothing in the documents
        "executor",  # another word of a family
        "a firewall and a kettle",  # everyday words that no document has
        "unborrow the preborrow",  # by a prefix
        "Wo ist das presure Ventil und wie kann ich es tauschen?",  # another language
        "fule " * 200,  # pasted
        "",
    ],
)
def test_everything_else_is_left(question: str) -> None:
    assert corrected(question) == question


def test_unsure_is_left() -> None:
    assert corrected("the zanyor", "The zantor turns. The zandor stands. " * 9) == "the zanyor"
    assert corrected("the zanyor", "The zantor turns. " * 9) == "the zantor"


def test_two_words_are_split_only_where_they_stand_together() -> None:
    assert corrected("pumpvalve", "The pump valve leaks. " * 9) == "pump valve"
    assert corrected("pumpvalve", "A valve and a pump leak. " * 9) == "pumpvalve"


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
