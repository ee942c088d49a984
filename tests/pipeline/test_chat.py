"""What the chat's prompt holds when a message is too long, and which turns it leaves out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.answering.context import count_tokens
from pipeline.chat import MESSAGE_CUT
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.conversations import EmbeddedConversations
from tests.fake_llm import FakeLLM
from tests.pipeline.chatting import QUESTION, answered, make_recipe, open_conversations

REPLY = "The cabin fan moves the air [1]."


@pytest.fixture
def conversations(tmp_path: Path) -> Iterator[EmbeddedConversations]:
    store = open_conversations(tmp_path)
    yield store
    store.close()


def test_a_message_longer_than_the_window_is_cut_and_said(
    manual: EmbeddedStore, conversations: EmbeddedConversations
) -> None:
    llm = FakeLLM([REPLY])
    recipe = make_recipe(manual, conversations, llm=llm, context_window=1024, max_answer_tokens=256)
    answer = answered(recipe.run("The cabin fan moves the air. " * 400))
    assert MESSAGE_CUT in answer.notices
    assert sum(count_tokens(str(m.content)) for m in llm.messages[-1]) <= 1024 - 256


def test_an_empty_turn_is_left_out_of_the_next_prompt(
    manual: EmbeddedStore, conversations: EmbeddedConversations
) -> None:
    stop = threading.Event()
    stop.set()
    recipe = make_recipe(manual, conversations, llm=FakeLLM([REPLY], repeat=True))
    assert answered(recipe.run(QUESTION, stop=stop)).text == ""
    for again in (recipe, make_recipe(manual, conversations, conversation_id=recipe.conversation_id)):
        assert again.history.said() == []
