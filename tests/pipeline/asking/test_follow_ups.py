"""Without a model a message is searched alone and with the question before it."""

from __future__ import annotations

from pipeline.answer import Answerability, Message, Retrieval
from pipeline.asking.questions import LONGEST_EARLIER, earlier_leads, earlier_question
from tests.pipeline.passages import make_passage

HISTORY = [
    Message("user", "How do I replace the fan?"),
    Message("assistant", "Open the panel."),
    Message("user", "thanks"),
    Message("assistant", "You are welcome."),
]


def found(probability: float, text: str = "The fan of the cabin hums.") -> Retrieval:
    passages = (make_passage("s", text=text),)
    return Retrieval("q", passages, Answerability(probability, 0.2, sure=0.8))


def test_the_last_question_that_is_no_small_talk_comes_along() -> None:
    assert earlier_question(HISTORY) == "How do I replace the fan"
    assert earlier_question(HISTORY[2:]) == ""
    assert len(earlier_question([Message("user", "word " * 100)])) <= LONGEST_EARLIER


def test_the_more_probable_reading_leads_where_it_has_the_messages_words() -> None:
    message = "which colour has the cabin fan cover"
    assert not earlier_leads(message, found(0.5), found(0.55))
    assert earlier_leads("cabin fan hums loudly", found(0.5), found(0.65))
    assert not earlier_leads(message, found(0.5), found(0.9, "Nothing of that."))


def test_a_message_of_few_words_leans_on_the_earlier_question() -> None:
    assert earlier_leads("and the cabin?", found(0.5), found(0.45))
    assert not earlier_leads("and the cabin?", found(0.5), found(0.35))
    assert not earlier_leads("and the cabin?", found(0.95), found(0.9))
