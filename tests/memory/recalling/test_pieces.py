from __future__ import annotations

import pytest

from evals.conversations import spoken
from memory.recalling.turn_index import PIECE_WORDS, Turn, TurnIndex, asking_in, cut
from tests.fakes import FakeEncoder

MOVED = "I moved to Leeds last week. It is loud here. And how are you?"
ASKS = "Really? Where do you live now?"


def turn(text: str) -> Turn:
    return Turn(id="1", session="s", text=text)


def test_a_short_turn_is_one_piece_without_the_question_it_ends_with() -> None:
    assert cut(MOVED) == ("I moved to Leeds last week. It is loud here.",)
    assert asking_in(turn(MOVED)) == 4 / 14


def test_a_turn_of_questions_stays_because_its_answer_is_found_by_it() -> None:
    assert cut(ASKS) == (ASKS,)
    assert asking_in(turn(ASKS)) == 1


def test_a_long_turn_is_cut_between_sentences() -> None:
    sentence = " ".join(["word"] * 25) + "."
    assert [len(text.split()) for text in cut(" ".join([sentence] * 5))] == [50, 50, 25]


def test_code_without_sentences_is_cut_by_words() -> None:
    found = cut(" ".join(f"x{number}" for number in range(2 * PIECE_WORDS + 1)))
    assert [len(text.split()) for text in found] == [PIECE_WORDS, PIECE_WORDS, 1]


def test_nothing_said_is_one_empty_piece() -> None:
    assert cut("") == ("",)
    assert asking_in(turn(" \n")) == 0


@pytest.mark.parametrize(
    ("text", "dated"),
    [(MOVED, True), (ASKS, False), ("You may come along.", False), ("We met in May.", True)],
)
def test_may_is_a_month_only_where_it_is_written_as_one(text: str, dated: bool) -> None:
    index = TurnIndex(spoken([turn(text)], embed=FakeEncoder().encode_passages))
    assert index.layout.dated.tolist() == [dated]
