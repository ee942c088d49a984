"""OpenAI's client for servers that speak its protocol loosely, as most compatible ones do."""

from __future__ import annotations

import re
from typing import Any

from openai import APIStatusError, OpenAI
from openai._streaming import ServerSentEvent, SSEDecoder
from openai.types.chat import ChatCompletionChunk

OPTIONAL = ("max_completion_tokens", "max_tokens", "temperature", "stream_options", "response_format")
REFUSALS = (400, 422)  # HTTP status
TEMPLATE_ERROR = 500  # how some servers say that a model's template has no system role
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
        """Send one request, and again with less while the server names a parameter that it refuses."""
        body = options.json_data
        sent = accepted_body(body, self._refused) if isinstance(body, dict) else body
        try:
            return super().request(cast_to, options.model_copy(update={"json_data": sent}), **kwargs)
        except APIStatusError as error:
            refused = refused_part(error.status_code, error.message, sent)
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
    """Skips events without data, such as comments and `retry:`, for which the original yields empty JSON."""

    def decode(self, line: str) -> ServerSentEvent | None:
        event = super().decode(line)
        return event if event and event.data.strip() else None


def refused_part(status: int, message: str, body: Any) -> str:
    """Return what a server's error refuses of a request: a parameter's name or "system"; "" for none."""
    if (
        not isinstance(body, dict)
        or status not in (*REFUSALS, TEMPLATE_ERROR)
        or "context" in message.lower()
    ):
        return ""
    named = (name for name in OPTIONAL if name in body and name in message)
    if status in REFUSALS and (name := next(named, "")):
        return name
    roles = {message.get("role") for message in body.get("messages", ())}
    return "system" if "system" in roles and ABOUT_ROLES.search(message) else ""


def accepted_body(body: dict[str, Any], refused: set[str]) -> dict[str, Any]:
    """Return a request's body without the parts that its server refused."""
    body = dict(body)
    if "max_tokens" in refused and "max_tokens" in body:
        body["max_completion_tokens"] = body.pop("max_tokens")
    if "system" in refused and "messages" in body:
        body["messages"] = without_system(body["messages"])
    return {name: value for name, value in body.items() if name not in refused}


def without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with the system's text at the beginning of the first user message."""
    system = "\n\n".join(str(one["content"]) for one in messages if one["role"] == "system")
    others = [dict(one) for one in messages if one["role"] != "system"]
    first = next((one for one in others if one["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": system}, *others]
    if isinstance(first["content"], str):
        first["content"] = f"{system}\n\n{first['content']}"
    else:
        first["content"] = [{"type": "text", "text": system}, *first["content"]]
    return others


def whole_chunk(data: object) -> dict[str, Any]:
    """Return a chunk of a stream with the fields that LlamaIndex reads: choices, each with a delta of text.

    >>> whole_chunk({"choices": [{"delta": {"content": [{"type": "text", "text": "B7"}]}}]})["choices"]
    [{'delta': {'content': 'B7'}}]
    >>> whole_chunk({"usage": None, "choices": [{}]})["choices"]
    [{'delta': {}}]
    """
    chunk = data if isinstance(data, dict) else {}
    choices = chunk.get("choices")
    kept = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    return {**chunk, "choices": [{**choice, "delta": _delta(choice.get("delta"))} for choice in kept]}


def _delta(delta: object) -> dict[str, Any]:
    if not isinstance(delta, dict):
        return {}
    parts = delta.get("content")
    if not isinstance(parts, list):
        return delta
    thoughts = "".join(_text(part.get("thinking")) for part in parts if isinstance(part, dict))
    return {**delta, "content": _text(parts)} | ({"reasoning_content": thoughts} if thoughts else {})


def _text(content: object) -> str:
    """Return the text of a content that is a string or a list of parts."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
