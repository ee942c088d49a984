"""Language models: what each offers, and those on servers, by the servers' own clients.

To add a kind of server, write a class with `server` and `stream` here; add its kind to `ServerKind` and the
branches on it in `pipeline/models/llm.py`, its `Provider` to `failures.py`, and its address to `options.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pipeline.answer import Message
from pipeline.models.failures import TOO_LONG, Server
from pipeline.options import LanguageModelOptions

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Schema = Mapping[str, Any]  # JSON schema
KEEP_ALIVE = "15m"  # a conversation's pauses should not unload the model
REFUSALS = (400, 422, 500)  # HTTP statuses of a refused parameter; 500: of a template without system messages


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a reply, or of the thoughts before it; the last ones say how it ended.

    Counts of tokens are None where the server does not report them. The reason is "stop", "length", "stopped"
    (by the user), another word of the server's, or "".
    """

    text: str = ""
    thinking: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None


class LanguageModel(Protocol):
    """A language model."""

    @property
    def server(self) -> Server:
        """Where it is, with its name."""

    def stream(self, messages: Sequence[Message], schema: Schema | None) -> AsyncIterator[Piece]:
        """Yield the reply as it arrives, in JSON of a schema where the server can keep to one.

        Raises whatever the client raises; `pipeline.models.failures.translate` knows the meaning.
        """


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """A model of an Ollama server."""

    server: Server
    options: LanguageModelOptions

    async def stream(self, messages: Sequence[Message], schema: Schema | None) -> AsyncIterator[Piece]:
        """Yield the reply as it arrives; `num_ctx` is always sent, since Ollama cuts prompts silently."""
        import ollama

        options, is_done = self.options, False
        limits = {"num_ctx": options.context_window, "num_predict": options.max_answer_tokens}
        async with ollama.AsyncClient(self.server.url, **self.server.http()) as client:
            parts = await client.chat(
                self.server.model,
                [{"role": one.role, "content": one.text} for one in messages],
                stream=True,
                think=options.think,
                format=dict(schema) if schema else None,
                options={"temperature": options.temperature, **limits},
                keep_alive=KEEP_ALIVE,
            )
            async for part in parts:
                is_done = bool(part.done)
                yield Piece(
                    part.message.content or "",
                    part.message.thinking or "",
                    (part.done_reason or "stop") if is_done else "",
                    part.prompt_eval_count,
                    part.eval_count,
                )
        if not is_done:
            raise EOFError("the connection ended before the answer did")


@dataclass(frozen=True, slots=True)
class OpenAIModel:
    """A model of OpenAI or of a server that speaks its protocol, as loosely as most do.

    A server that refuses a request is asked again with the messages alone, the system's text at the
    beginning of the user's.
    """

    server: Server
    options: LanguageModelOptions

    async def stream(self, messages: Sequence[Message], schema: Schema | None) -> AsyncIterator[Piece]:
        """Yield the reply as it arrives."""
        options, is_empty = self.options, True
        body: dict[str, Any] = {
            "model": self.server.model,
            "messages": [{"role": one.role, "content": one.text} for one in messages],
            "max_tokens": options.max_answer_tokens,
            "temperature": options.temperature,
            "stream_options": {"include_usage": True},
        }
        if schema:
            named = {"name": "reply", "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        client = _openai_client(self.server, options)
        async with client, await self._asked(client, body) as chunks:
            async for chunk in chunks:
                piece = _piece(chunk)
                is_empty = is_empty and piece == Piece()
                yield piece
        if is_empty:
            raise EOFError("the connection ended before the answer did")

    async def _asked(self, client: AsyncOpenAI, body: dict[str, Any]) -> Any:
        """Send the request, and again with the messages alone where the server refuses more."""
        from openai import APIStatusError

        create = client.chat.completions.create
        try:
            return await create(**body, stream=True)
        except APIStatusError as error:
            if error.status_code not in REFUSALS or TOO_LONG.search(error.message):
                raise
            return await create(**_plain(body), stream=True)


def _openai_client(server: Server, options: LanguageModelOptions) -> AsyncOpenAI:
    """Return a client that skips events without data, as `retry:`, which it would read as empty JSON."""
    import httpx
    from openai import AsyncOpenAI
    from openai._streaming import ServerSentEvent, SSEDecoder

    class Decoder(SSEDecoder):
        def decode(self, line: str) -> ServerSentEvent | None:
            event = super().decode(line)
            return event if event and event.data.strip() else None

    class Client(AsyncOpenAI):
        def _make_sse_decoder(self) -> SSEDecoder:
            return Decoder()

    http = httpx.AsyncClient(**server.http())
    key = options.openai_api_key or "none"  # the client insists on one
    return Client(api_key=key, base_url=server.url, max_retries=1, http_client=http)


def _piece(chunk: Any) -> Piece:
    """Return a chunk as a piece; servers leave out any of its fields, or send text as a list of parts."""
    choice = next(iter(getattr(chunk, "choices", None) or ()), None)
    delta, usage = getattr(choice, "delta", None), getattr(chunk, "usage", None)
    content = getattr(delta, "content", None)
    thoughts = getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None) or ""
    if isinstance(content, list):
        thoughts += "".join(_text(part.get("thinking")) for part in content)
    read, wrote = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
    return Piece(_text(content), thoughts, getattr(choice, "finish_reason", None) or "", read, wrote)


def _text(content: Any) -> str:
    """Return the text of a content that is a string or a list of parts."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content)
    return content or ""


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request with its model and its messages alone, none of them the system's."""
    texts = [one["content"] for one in body["messages"] if one["role"] == "system"]
    first, *others = [one for one in body["messages"] if one["role"] != "system"]
    joined = first | {"content": "\n\n".join([*texts, first["content"]])}
    return {"model": body["model"], "messages": [joined, *others]}
