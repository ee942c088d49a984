from __future__ import annotations

from memory.recalling.turn_index import PIECE_WORDS, cut


def test_a_short_turn_is_one_piece_without_the_question_it_ends_with() -> None:
    found = cut("I moved to Leeds last week. It is loud here. And how are you?")
    assert found.texts == ("I moved to Leeds last week. It is loud here.",)
    assert found.asking == 4 / 14
    assert found.dated


def test_a_turn_of_questions_stays_because_its_answer_is_found_by_it() -> None:
    found = cut("Really? Where do you live now?")
    assert found.texts == ("Really? Where do you live now?",)
    assert found.asking == 1
    assert not found.dated


def test_a_long_turn_is_cut_between_sentences() -> None:
    sentence = " ".join(["word"] * 25) + "."
    found = cut(" ".join([sentence] * 5))
    assert [len(text.split()) for text in found.texts] == [50, 50, 25]


def test_code_without_sentences_is_cut_by_words() -> None:
    found = cut(" ".join(f"x{number}" for number in range(2 * PIECE_WORDS + 1)))
    assert [len(text.split()) for text in found.texts] == [PIECE_WORDS, PIECE_WORDS, 1]


def test_nothing_said_is_one_empty_piece() -> None:
    assert cut("").texts == ("",)
    assert cut(" \n").asking == 0


def test_may_is_a_month_only_where_it_is_written_as_one() -> None:
    assert not cut("You may come along.").dated
    assert cut("We met in May.").dated
