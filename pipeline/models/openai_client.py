"""OpenAI's client for servers that speak its protocol loosely, as most compatible ones do."""

from __future__ import annotations

import re
from typing import Any

from openai import APIStatusError, OpenAI
from openai._streaming import ServerSentEvent, SSEDecoder
from openai.types.chat import ChatCompletionChunk

OPTIONAL = ("max_completion_tokens", "max_tokens", "temperature", "stream_options", "response_format")
ABOUT_ROLES = re.compile(r"system (role|message|prompt|instruction)|roles? .{0,60}support", re.IGNORECASE)


class LooseOpenAI(OpenAI):
    """Asks again without a parameter that the server refuses, and reads chunks that lack optional fields.

    What a server refused once is not sent again. `max_tokens` becomes `max_completion_tokens` first; the
    system message becomes the beginning of the user's.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._refused: set[str] = set()

    def request(self, cast_to: Any, options: Any, **kwargs: Any) -> Any:
        """Send one request, and again with less while the server names a part that it refuses."""
        sent = accepted_body(options.json_data, self._refused)
        try:
            return super().request(cast_to, options.model_copy(update={"json_data": sent}), **kwargs)
        except APIStatusError as error:
            refused = refused_part(error, sent)
            if not refused:
                raise
            self._refused.add(refused)
        return self.request(cast_to, options, **kwargs)

    def _process_response_data(self, *, data: object, cast_to: Any, response: Any) -> Any:
        if cast_to is ChatCompletionChunk:
            data = whole_chunk(data)
        return super()._process_response_data(data=data, cast_to=cast_to, response=response)

    def _make_sse_decoder(self) -> SSEDecoder:
        return _Decoder()


class _Decoder(SSEDecoder):
    """Skips events without data, such as comments and `retry:`, which the original reads as empty JSON."""

    def decode(self, line: str) -> ServerSentEvent | None:
        event = super().decode(line)
        return event if event and event.data.strip() else None


def refused_part(error: APIStatusError, body: Any) -> str:
    """Return what a server's error refuses of a request: a parameter's name or "system"; "" for none."""
    if error.status_code not in (400, 422, 500) or "context" in error.message.lower():
        return ""  # a prompt that is too long names `max_tokens`, too
    named = [name for name in OPTIONAL if name in body and name in error.message]
    if named and error.status_code != 500:
        return named[0]
    roles = {message["role"] for message in body.get("messages", ())}
    return "system" if "system" in roles and ABOUT_ROLES.search(error.message) else ""  # of a template: 500


def accepted_body(body: Any, refused: set[str]) -> Any:
    """Return a request's body without the parts that its server refused."""
    if not refused or not isinstance(body, dict):
        return body
    if "max_tokens" in refused and "max_tokens" in body:
        body = body | {"max_completion_tokens": body["max_tokens"]}
    if "system" in refused and "messages" in body:
        body = body | {"messages": _without_system(body["messages"])}
    return {name: value for name, value in body.items() if name not in refused}


def _without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with the system's text at the beginning of the first other message."""
    system = "\n\n".join(str(one["content"]) for one in messages if one["role"] == "system")
    first, *others = [one for one in messages if one["role"] != "system"]
    content = first["content"]
    text = [{"type": "text", "text": system}]
    joined = f"{system}\n\n{content}" if isinstance(content, str) else [*text, *content]
    return [first | {"content": joined}, *others]


def whole_chunk(data: object) -> dict[str, Any]:
    """Return a chunk of a stream with the fields that LlamaIndex reads: choices, each with a delta of text.

    >>> whole_chunk({"choices": [{"delta": {"content": [{"type": "text", "text": "B7"}]}}]})["choices"]
    [{'delta': {'content': 'B7'}}]
    >>> whole_chunk({"usage": None, "choices": [{}]})["choices"]
    [{'delta': {}}]
    """
    chunk = data if isinstance(data, dict) else {}
    choices = [choice for choice in chunk.get("choices") or () if isinstance(choice, dict)]
    return {
        **chunk,
        "choices": [{**choice, "delta": _delta(choice.get("delta") or {})} for choice in choices],
    }


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(parts := delta.get("content"), list):
        return delta
    thoughts = "".join(_text(part.get("thinking")) for part in parts)
    return {**delta, "content": _text(parts)} | ({"reasoning_content": thoughts} if thoughts else {})


def _text(content: Any) -> str:
    """Return the text of a content that is a string or a list of parts."""
    return (
        "".join(_text(part.get("text")) for part in content) if isinstance(content, list) else content or ""
    )
