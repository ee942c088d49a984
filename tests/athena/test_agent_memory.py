"""Our blocks in LlamaIndex's own `Memory`."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole

from athena.agent_memory import RecalledBlock, agent_memory, last_asked
from memory.user_memory import UserMemory
from pipeline.stores.memories import Memory as OneMemory
from tests.memory.conftest import with_preset


@pytest.fixture(autouse=True, scope="module")
def _unclosed() -> Iterator[None]:
    """LlamaIndex never closes its own store of messages: all are collected once, at the end, in silence."""
    gc.disable()
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
    gc.enable()


def said(role: MessageRole, text: str) -> ChatMessage:
    return ChatMessage(role=role, content=text)


async def session(mine: UserMemory, *messages: ChatMessage, **given: Any) -> list[ChatMessage]:
    """The messages with what the blocks add, once all of them were put in."""
    memory = agent_memory(mine, **given)
    for message in messages:
        await memory.aput(message)
    return await memory.aget()


def test_what_is_known_stands_in_the_users_last_message(mine: UserMemory) -> None:
    mine.add("Clara plays the cello.")
    mine = replace(mine, static=(OneMemory(id="s", user="local", text="The ship is the Argo."),))
    question = "What does Clara play on the cello?"
    (message,) = asyncio.run(session(mine, said(MessageRole.USER, question)))
    assert message.role == MessageRole.USER
    assert "Clara plays the cello." in str(message.content)
    assert "The ship is the Argo." in str(message.content)
    assert str(message.content).rstrip().endswith(question)


def test_what_leaves_the_window_is_kept_of_users_alone(mine: UserMemory) -> None:
    mine = with_preset(mine, "agent")
    asyncio.run(
        session(
            mine,
            said(MessageRole.USER, "Remember that I live in Berlin."),
            said(MessageRole.ASSISTANT, "I live in a server. " * 10),
            said(MessageRole.USER, "What feeds the cabin fan? " * 4),
            said(MessageRole.ASSISTANT, "A circuit does. " * 10),
            token_limit=60,
        )
    )
    assert [item.text for item in mine.list()] == ["I live in Berlin"]


def test_nothing_recalled_is_learnt(mine: UserMemory) -> None:
    mine.add("Clara plays the cello.")
    block = RecalledBlock(with_preset(mine, "agent"))
    recalled = asyncio.run(block.aget([said(MessageRole.USER, "Clara's cello?")]))
    composed = said(MessageRole.USER, f"<memory>\n{recalled}\nI live in Bonn.\n</memory>\nClara's cello?")
    asyncio.run(block.aput([composed], from_short_term_memory=True))
    assert len(mine.list()) == 1
    assert last_asked([composed]) == "Clara's cello?"
