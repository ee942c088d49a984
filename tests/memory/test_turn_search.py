from __future__ import annotations

import time

import numpy as np
import pytest

from memory.turn_index import NONE, Turn, TurnIndex
from memory.turn_search import Calibration, look_up, relative, with_neighbours, with_sessions
from tests.fakes import FakeEncoder, spoken

TALK = ("Good morning!", "It rains.", "Coffee would be nice.", "I am late for work.")

WEIGHTS = Calibration()


def index(*turns: Turn) -> TurnIndex:
    """The turns among talk about other things."""
    talk = [Turn(id=text, session=text, text=text) for text in TALK] if turns else []
    return TurnIndex(spoken([*turns, *talk], embed=FakeEncoder(dimensions=256).encode_passages))


def first(found: TurnIndex, question: str) -> str:
    return look_up(found, question, encoder=FakeEncoder(dimensions=256)).found[0].turn.id


def test_a_turn_lends_shares_of_its_score_to_those_beside_it() -> None:
    scores = np.array([1, 0, 0, 0, 0.5], dtype=np.float32)
    before = np.array([NONE, 0, 1, 2, NONE])  # the last one is of another session
    found = with_neighbours(scores, before, WEIGHTS)
    expected = [1, WEIGHTS.before, WEIGHTS.before_that, 0, 0.5]
    assert found.tolist() == pytest.approx(expected)
    back = with_neighbours(np.array([0, 1], dtype=np.float32), np.array([NONE, 0]), WEIGHTS)
    assert back.tolist() == pytest.approx([WEIGHTS.after, 1])


def test_a_session_lends_its_best_score() -> None:
    found = with_sessions(np.array([1, 0, 0.5], dtype=np.float32), np.array([0, 0, 1]), share=WEIGHTS.session)
    assert found.tolist() == pytest.approx(
        [1 + WEIGHTS.session, WEIGHTS.session, 0.5 + 0.5 * WEIGHTS.session]
    )


def test_relative_scores() -> None:
    assert relative(np.array([1, 3, 2], dtype=np.float32)).tolist() == [0, 1, 0.5]
    assert relative(np.array([2, 2], dtype=np.float32)).tolist() == [0, 0]


def test_an_answer_without_the_questions_words_is_found_by_the_turn_before() -> None:
    found = index(
        Turn(id="ask", session="1", speaker="Ana", text="What's your dog's name?"),
        Turn(id="answer", session="1", speaker="Ben", text="Pippa, she's five."),
        Turn(id="other", session="2", speaker="Ben", text="Nothing new, really."),
    )
    hits = look_up(found, "What is the name of Ben's dog?", encoder=FakeEncoder(dimensions=256)).found
    assert hits[0].turn.id == "answer"


def test_of_two_who_say_the_same_the_one_who_is_named_is_meant() -> None:
    found = index(
        Turn(id="ben", session="1", speaker="Ben", text="I paint fences."),
        Turn(id="ana", session="2", speaker="Ana", text="I paint fences."),
    )
    assert first(found, "What does Ana paint?") == "ana"
    assert first(found, "What does Ben paint?") == "ben"


def test_what_one_says_again_is_found_once_and_the_question_itself_not_at_all() -> None:
    found = index(
        Turn(id="asked", session="1", text="where is my torch"),
        Turn(id="one", session="1", text="The torch is in locker 4."),
        Turn(id="two", session="2", text="the torch is in locker 4"),
    )
    hits = look_up(found, "Where is my torch?", encoder=FakeEncoder(dimensions=256)).found
    assert [hit.turn.id for hit in hits if hit.turn.id not in TALK] == ["one"]


def test_no_more_than_asked_for_and_nothing_of_nothing() -> None:
    found = index(*(Turn(id=str(number), session="1", text=f"word{number} there") for number in range(9)))
    hits = look_up(found, "word3 here", encoder=FakeEncoder(dimensions=256), top_k=4).found
    assert len(hits) == 4
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    everything = look_up(found, "word3 here", encoder=FakeEncoder(dimensions=256), top_k=99).found
    assert len(everything) == 9 + len(TALK)
    assert everything[:4] == hits
    assert look_up(index(), "anything", encoder=FakeEncoder()).found == ()


@pytest.mark.slow
def test_ten_thousand_turns_are_searched_in_milliseconds() -> None:
    random = np.random.default_rng(1)

    def embed(texts: object) -> np.ndarray:
        found = random.standard_normal((len(texts), 384), dtype=np.float32)  # type: ignore[arg-type]
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    words = [f"word{number}" for number in range(2_000)]
    said = [" ".join(random.choice(words, 20)) for _ in range(10_000)]
    turns = [
        Turn(id=str(number), session=str(number // 20), speaker=("Ana", "Ben")[number % 2], text=text)
        for number, text in enumerate(said)
    ]
    found = TurnIndex(spoken(turns, embed=embed))
    encoder = FakeEncoder(dimensions=384)
    look_up(found, "word1 word2", encoder=encoder)
    spent = []
    for number in range(20):
        started = time.thread_time()
        look_up(found, f"When did Ana see word{number} and word{number + 1}?", encoder=encoder)
        spent.append(time.thread_time() - started)
    assert sorted(spent)[18] < 0.03
