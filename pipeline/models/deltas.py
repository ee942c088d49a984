"""What the messages of a streamed answer say, in one form: Ollama's lines, OpenAI's chunks, any model's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatResponse
    from llama_index.core.llms import LLM

    from pipeline.messages import Message
    from pipeline.models.failures import Server
    from pipeline.models.transport import HangUpTransport


@dataclass(frozen=True, slots=True)
class Delta:
    """One message: a piece of text, and at the end why it ended and what was counted."""

    text: str = ""
    reason: str = ""  # "" while it goes on
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    marked: bool = True  # False where the protocol does not say when an answer is complete


@runtime_checkable
class ServedModel(Protocol):
    """A language model on a server: `AthenaOllama`, `AthenaOpenAI`."""

    @property
    def server(self) -> Server:
        """Where it is, for error messages."""

    def deltas(self, messages: Sequence[Message], transport: HangUpTransport) -> Iterator[Delta]:
        """Stream an answer through connections that can be hung up."""


def model_deltas(llm: LLM, messages: Sequence[Message]) -> Iterator[Delta]:
    """Stream the answer of any LlamaIndex model."""
    from llama_index.core.base.llms.types import ChatMessage

    chat = [ChatMessage(role=message.role, content=message.text) for message in messages]
    return (delta_of_response(response) for response in llm.stream_chat(chat))


def delta_of_response(response: ChatResponse) -> Delta:
    """What one response of a LlamaIndex model says; where its raw part is unknown, only text."""
    text, raw = response.delta or "", response.raw
    if isinstance(raw, Mapping) and "done" in raw:
        return delta_of_line(raw, text)
    if hasattr(raw, "choices"):
        return _delta_of_chunk(raw, text)
    return Delta(text, marked=False)


def delta_of_line(line: Mapping[str, Any], text: str) -> Delta:
    """What one line of Ollama's says."""
    if not line.get("done"):
        return Delta(text)
    reason = line.get("done_reason") or "stop"
    return Delta(text, reason, line.get("prompt_eval_count"), line.get("eval_count"))


def _delta_of_chunk(chunk: Any, text: str) -> Delta:
    reason = (chunk.choices[0].finish_reason if chunk.choices else "") or ""
    usage = getattr(chunk, "usage", None)
    if not usage:
        return Delta(text, reason)
    return Delta(text, reason, usage.prompt_tokens, usage.completion_tokens)
