"""Language models: their protocol, and the models of Ollama and OpenAI servers, by the servers' own clients.

To add a kind of server, write a class like `OllamaModel` and add it to `MODELS`; add its address to
`Server.of` and its remedies to `failures.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pipeline.answer import Message
from pipeline.models.failures import TOO_LONG, Server
from pipeline.options import LanguageModelOptions

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Schema = Mapping[str, Any]  # JSON schema
KEEP_ALIVE = "15m"  # so that pauses in a conversation do not unload the model
BROKEN_OFF = "the connection ended before the answer did"
REFUSALS = (400, 422, 500)  # HTTP statuses of a refused parameter; 500: the template has no system messages


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a reply, or of the thoughts before it; the last pieces have the reason why it ended.

    Token counts are None if the server does not report them. The reason is "stop", "length", "stopped" (by
    the user), another word of the server's, or "" before the end.
    """

    text: str = ""
    thinking: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None


class LanguageModel(Protocol):
    """A language model that streams its replies."""

    @property
    def server(self) -> Server:
        """The server that it runs on, with the model's name."""

    def stream(self, messages: Sequence[Message], schema: Schema | None) -> AsyncIterator[Piece]:
        """Yield the reply as it arrives, as JSON of the `schema` if the server supports that.

        Raises the client's own exceptions; `pipeline.models.failures.translate` makes them a `ModelError`.
        """


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """A model of an Ollama server."""

    LISTED: ClassVar = ("/api/tags", "models", "name")  # path and key of the list of models, key of a name
    server: Server
    options: LanguageModelOptions

    async def stream(self, messages: Sequence[Message], schema: Schema | None) -> AsyncIterator[Piece]:
        """Yield the reply as it arrives; always send `num_ctx`, since Ollama cuts longer prompts silently."""
        import ollama

        options, reason = self.options, ""
        limits = {"num_ctx": options.context_window, "num_predict": options.max_answer_tokens}
        async with ollama.AsyncClient(self.server.url, **self.server.http()) as client:
            parts = await client.chat(
                self.server.model,
                _sent(messages),
                stream=True,
                think=options.think,
                format=dict(schema) if schema else None,
                options={"temperature": options.temperature, **limits},
                keep_alive=KEEP_ALIVE,
            )
            async for part in parts:
                text, thoughts = part.message.content or "", part.message.thinking or ""
                reason = (part.done_reason or "stop") if part.done else ""
                yield Piece(text, thoughts, reason, part.prompt_eval_count, part.eval_count)
        if not reason:
            raise EOFError(BROKEN_OFF)


@dataclass(frozen=True, slots=True)
class OpenAIModel:
    """A model of OpenAI or of a server that follows its protocol, even loosely."""

    LISTED: ClassVar = ("/models", "data", "id")
    server: Server
    options: LanguageModelOptions

    async def stream(self, messages: Sequence[Message], schema: Schema | None) -> AsyncIterator[Piece]:
        """Yield the reply as it arrives.

        If the server refuses the request, ask once more without any options, and with the system message's
        text at the beginning of the next message.
        """
        from openai import APIStatusError

        options, is_empty = self.options, True
        more: dict[str, Any] = {
            "max_tokens": options.max_answer_tokens,
            "temperature": options.temperature,
            "stream_options": {"include_usage": True},
        }
        if schema:
            named = {"name": "reply", "schema": dict(schema)}
            more["response_format"] = {"type": "json_schema", "json_schema": named}
        async with _openai_client(self.server, options) as client:
            create: Any = partial(client.chat.completions.create, model=self.server.model, stream=True)
            try:
                chunks = await create(messages=_sent(messages), **more)
            except APIStatusError as error:
                if error.status_code not in REFUSALS or TOO_LONG.search(error.message):
                    raise
                chunks = await create(messages=_sent(_without_system(messages)))
            async for chunk in chunks:
                yield (piece := _piece(chunk))
                is_empty = is_empty and piece == Piece()
        if is_empty:
            raise EOFError(BROKEN_OFF)


MODELS: dict[str, type[OllamaModel | OpenAIModel]] = {"ollama": OllamaModel, "openai": OpenAIModel}
"""The class of language model by provider; `auto` asks the servers in this order."""


def _openai_client(server: Server, options: LanguageModelOptions) -> AsyncOpenAI:
    """Return a client that skips events without data (`retry:`), which it would otherwise parse as JSON."""
    import httpx
    from openai import AsyncOpenAI
    from openai._streaming import ServerSentEvent, SSEDecoder

    class Decoder(SSEDecoder):
        def decode(self, line: str) -> ServerSentEvent | None:
            event = super().decode(line)
            return event if event and event.data.strip() else None

    http = httpx.AsyncClient(**server.http())
    key = options.openai_api_key or "none"  # the client requires a key
    client = AsyncOpenAI(api_key=key, base_url=server.url, max_retries=1, http_client=http)
    client._make_sse_decoder = Decoder  # type: ignore[method-assign]
    return client


def _piece(chunk: Any) -> Piece:
    """Return a chunk as a piece; any of its fields may be missing, and its text may be a list of parts."""
    found = chunk.to_dict(warnings=False)
    choice, usage = (found.get("choices") or [{}])[0], found.get("usage") or {}
    delta = choice.get("delta") or {}
    content, thoughts = delta.get("content"), delta.get("reasoning_content") or delta.get("reasoning") or ""
    parts = content if isinstance(content, list) else [{"text": content}]
    text = "".join(part.get("text") or "" for part in parts)
    thoughts += "".join(thought["text"] for part in parts for thought in part.get("thinking") or ())
    tokens = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return Piece(text, thoughts, choice.get("finish_reason") or "", *tokens)


def _sent(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": one.role, "content": one.text} for one in messages]


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with the system messages' text moved to the beginning of the first other one."""
    texts = [one.text for one in messages if one.role == "system"]
    first, *others = [one for one in messages if one.role != "system"]
    return [Message(first.role, "\n\n".join([*texts, first.text])), *others]
