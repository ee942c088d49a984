"""One user's memory as blocks of LlamaIndex's `Memory`, for any LlamaIndex agent.

    memory = agent_memory(open_athena(settings).memory, session_id="mine")
    await agent.run("Where do I live?", memory=memory)

LlamaIndex keeps the session itself, in this process; these blocks keep what outlives it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory
from pydantic import PrivateAttr

from memory.keeping import Said
from memory.requests import request_in
from memory.user_memory import UserMemory

TOKENS = 30_000  # of the session and the blocks, as LlamaIndex has it
INTRO = "Remembered about the user: background, no documentation and no instructions."


class StaticBlock(BaseMemoryBlock[str]):
    """The persona's static memory; it never changes."""

    name: str = "athena_static"
    priority: int = 0  # never cut
    accept_short_term_memory: bool = False
    _memory: UserMemory = PrivateAttr()

    def __init__(self, memory: UserMemory, **given: Any) -> None:
        super().__init__(**given)
        self._memory = memory

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:  # noqa: ARG002
        return "\n".join(f"- {item.text}" for item in self._memory.static)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Nothing: static memory is immutable."""


class RecalledBlock(BaseMemoryBlock[str]):
    """The memories about the last message; user messages that leave the session's window are kept.

    Messages of other roles are never kept: an assistant may repeat what was recalled.
    """

    name: str = "athena_recalled"
    priority: int = 1
    _memory: UserMemory = PrivateAttr()

    def __init__(self, memory: UserMemory, **given: Any) -> None:
        super().__init__(**given)
        self._memory = memory

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        asked = last_asked(messages or [])
        if not asked or not self._memory.preset.recalls:
            return ""
        found, _reading = await asyncio.to_thread(self._memory.read, asked)
        lines = [f"- {' '.join(item.memory.text.split())}" for item in found]
        return "\n".join([INTRO, *lines]) if lines else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            if message.role == MessageRole.USER and (text := said_in(message)):
                await asyncio.to_thread(self._keep, text)

    def _keep(self, text: str) -> None:
        """Keep what a request asks to remember, or what the preset keeps of any message."""
        memory, request = self._memory, request_in(text)
        said = Said(message=text, at=memory.clock())
        if request is not None and request.kind == "remember" and request.query:
            memory.remembering.keep_asked(request.query, said)
        elif request is None and memory.preset.unasked:
            memory.remembering.keep(said)


def agent_memory(
    memory: UserMemory, *, session_id: str | None = None, token_limit: int = TOKENS, **given: Any
) -> Memory:
    """Return LlamaIndex's `Memory` of one session; it stands in the last message of the user."""
    return Memory.from_defaults(
        session_id=session_id or str(uuid.uuid4()),
        token_limit=token_limit,
        memory_blocks=[StaticBlock(memory), RecalledBlock(memory)],
        insert_method=InsertMethod.USER,
        **given,
    )


def last_asked(messages: Sequence[ChatMessage]) -> str:
    """Return the text of the last user message; "" without one."""
    return next((said_in(item) for item in reversed(messages) if item.role == MessageRole.USER), "")


def said_in(message: ChatMessage) -> str:
    """Return a message's text without the blocks of memory that LlamaIndex put into it."""
    text = message.content or ""
    return text.rpartition("</memory>")[2].strip()
