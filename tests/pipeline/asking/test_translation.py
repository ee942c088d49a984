"""A question in another language than the documents' is searched for, and its answer checked, in theirs."""

from __future__ import annotations

import pytest

from pipeline.asking.translation import foreign_language
from pipeline.stores.embedded import EmbeddedStore
from tests.fake_llm import FakeLLM
from tests.pipeline.chat_runs import NewChat

QUESTION = "Wie schnell dreht sich der Lüfter in der Kabine?"
QUERY = '{"queries": ["How fast does the cabin fan hum?"]}'
ANSWER = "Der Lüfter der Kabine brummt mit 4000 Umdrehungen. Bananen wachsen bei 25 Grad."
FAN, BANANAS = "The cabin fan hums at 4000 rpm.", "Bananas grow at 25 degrees."


@pytest.mark.parametrize(
    ("message", "language"),
    [
        (QUESTION, "German"),
        ("ファンの速度は", "Japanese"),
        ("Who painted the Mona Lisa portrait?", ""),
        ("LN2 OFFLINE", ""),
    ],
)
def test_the_language_of_a_message(manual: EmbeddedStore, message: str, language: str) -> None:
    assert foreign_language(message, manual) == language


def test_a_first_message_is_translated_and_its_answer_checked_in_translation(new_chat: NewChat) -> None:
    llm = FakeLLM([QUERY, ANSWER, FAN, BANANAS])
    answer = new_chat(llm=llm).answer(QUESTION)
    assert answer.condensed_question == "How fast does the cabin fan hum?"
    assert llm.prompts[0].endswith("translated into English:")
    assert "in German" in llm.prompts[1]
    assert [(item.supported, item.translation) for item in answer.support] == [(True, FAN), (False, BANANAS)]
    assert answer.text == ANSWER.replace("Umdrehungen.", "Umdrehungen [1][2].")
    assert answer.citations[0].quote == "It hums at 4000 rpm."


def test_a_translation_with_another_number_checks_nothing(new_chat: NewChat) -> None:
    llm = FakeLLM([QUERY, "Der Lüfter brummt mit 400 Umdrehungen.", FAN])
    (support,) = new_chat(llm=llm).answer(QUESTION).support
    assert (support.supported, support.missing) == (False, ("400",))


def test_where_translating_fails_the_answer_says_so(new_chat: NewChat) -> None:
    answer = new_chat(llm=FakeLLM([QUERY, ANSWER, RuntimeError("gone"), FAN])).answer(QUESTION)
    assert len(answer.support) == 1
    assert any("not checked" in notice for notice in answer.notices)
