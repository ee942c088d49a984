"""The signals by hand."""

from __future__ import annotations

import time

import pytest

from pipeline.finding.verdict_signals import BY_WORDS, IndexFacts, lacks_fact, signals
from pipeline.stores.base import Hit, SearchResponse
from tests.pipeline.passages import make_passage

NOTHING = SearchResponse((), (), (), ())
SMALL = IndexFacts(sentences=1_000, unknown=frozenset())


def response(
    *,
    sections: tuple[Hit, ...] = (),
    sentences: tuple[Hit, ...] = (),
    bm25: tuple[Hit, ...] = (),
    bm25_sentences: tuple[Hit, ...] = (),
) -> SearchResponse:
    return SearchResponse(bm25, bm25_sentences, sections, sentences)


def test_closeness_is_the_nearest_sentence_of_the_first_three_passages() -> None:
    passages = [make_passage(name, score=0.5) for name in "abcd"]
    found = response(
        sentences=(Hit("d0", "d", 0.9), Hit("b0", "b", 0.6), Hit("a0", "a", 0.4)),
        sections=(Hit("a", "a", 0.8),),
        bm25=(Hit("a", "a", 31.0),),
    )
    values = signals("fan", found, passages, SMALL)
    assert values["closeness"] == 0.6
    assert (values["nearest_sentence"], values["nearest_section"]) == (0.9, 0.8)


def test_without_a_sentence_the_sections_closeness_counts() -> None:
    passages = [make_passage("a")]
    found = response(sentences=(Hit("z0", "z", 0.9),), sections=(Hit("a", "a", 0.3), Hit("z", "z", 0.7)))
    assert signals("fan", found, passages, SMALL)["closeness"] == 0.3
    assert signals("fan", response(sentences=(Hit("a0", "a", -0.2),)), passages, SMALL)["closeness"] == 0.0


def test_agreed_is_the_nearest_sentence_that_the_words_find_among_their_first() -> None:
    by_words = tuple(Hit(f"w{place}", "w", 30.0 - place) for place in range(BY_WORDS - 1))
    found = response(
        sentences=(Hit("x0", "x", 0.9), Hit("late", "a", 0.8), Hit("last", "a", 0.7), Hit("w0", "w", 0.2)),
        bm25_sentences=(*by_words, Hit("last", "a", 9.0), Hit("late", "a", 8.0)),
    )
    assert signals("fan", found, [make_passage("a")], SMALL)["agreed"] == 0.7


def test_without_vectors_the_share_of_words_stands_for_the_cosines() -> None:
    values = signals(
        "fan noise", response(bm25=(Hit("a", "a", 9.0),)), [make_passage("a", text="The fan runs.")], SMALL
    )
    assert values["coverage"] == 0.5
    assert {values[name] for name in ("closeness", "nearest_sentence", "nearest_section", "agreed")} == {0.5}


def test_coverage_by_hand() -> None:
    passages = [
        make_passage("a", text="The pump leaks coolant."),
        make_passage("b", text="Valves.", heading_path=("Manual", "Radiators")),
        make_passage("c", text="Coolant boils."),
        make_passage("d", text="Pump coolant leaks at radiators quickly."),
    ]
    # pump, leak, coolant, radiator: a has three; d is not among the three
    assert (
        signals("Why does the pump leak coolant at a radiator?", NOTHING, passages, SMALL)["coverage"] == 0.75
    )


def test_a_question_of_nothing_but_stop_words_is_still_compared() -> None:
    assert signals("what is it", NOTHING, [make_passage("a", text="It is so.")], SMALL)[
        "coverage"
    ] == pytest.approx(2 / 3)


def test_what_is_asked_for_is_looked_for_in_all_three_passages() -> None:
    passages = [make_passage("a", text="The pump hums."), make_passage("b", text="A company of two.")]
    values = signals("Which company made the pump?", NOTHING, passages, SMALL)
    # "company made the": company is in the second passage, made in none; the pump is not what is asked for
    assert (values["asks_focus"], values["focus_missing"]) == (1.0, 0.5)
    assert signals("pump hums", NOTHING, passages, SMALL)["focus_missing"] == 0.0


def test_a_fact_is_looked_for_in_the_best_sentences_and_their_tables_header() -> None:
    question = "At what temperature does the loop freeze?"
    far_down = [(place, "The loop is long.", 1.0 - place / 10) for place in range(6)]
    passage = make_passage("a", text="…", sentences=[*far_down, (9, "It freezes at -12 °C.", 0.1)])
    assert signals(question, NOTHING, [passage], SMALL)["lacks_fact"] == 1.0
    near = make_passage("a", text="…", sentences=[(9, "It freezes at -12 °C.", 0.9), *far_down])
    assert signals(question, NOTHING, [near], SMALL)["lacks_fact"] == 0.0
    whole = make_passage("a", text="It freezes at -12 °C.")
    assert signals(question, NOTHING, [whole], SMALL)["lacks_fact"] == 0.0


@pytest.mark.parametrize(
    ("sentences", "size"), [(0, 0.6), (1_000, 0.6), (10_000, 0.8), (100_000, 1.0), (5_000_000, 1.0)]
)
def test_the_size_of_an_index_counts_in_tens_as_far_as_it_was_measured(sentences: int, size: float) -> None:
    index = IndexFacts(sentences, unknown=frozenset({"zebra"}))
    values = signals("fan", NOTHING, [make_passage("a")], index)
    assert values["index_size"] == pytest.approx(size)
    assert values["lacks_word"] == 1.0


@pytest.mark.parametrize("question", ["how long does it last", "how many people"])
def test_a_run_of_digits_is_read_in_linear_time(question: str) -> None:
    started = time.process_time()
    lacks_fact(question, ["1" * 20_000])
    assert time.process_time() - started < 5  # a guard: it took minutes, and takes a fraction of a second
