"""OpenAI's protocol: `GET /v1/models` and `POST /v1/chat/completions`, whole and as a stream."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from openai.types import CompletionUsage, Model
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_message import Annotation, AnnotationURLCitation
from pydantic import BaseModel, Field, StrictBool
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from athena.assistant import Asking
from athena.components import require_index
from athena.shapes import AnswerOut
from doors.access import Reads, RequestContext
from doors.answering import MODEL, MODELS, answer_out, asking_of
from doors.errors import ERRORS, BadRequest, error_out
from pipeline.answer import Answer, Citation, Message
from pipeline.answering.citations import CODE, MARKER
from pipeline.asking.questions import check_length
from pipeline.errors import AthenaError
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, SentencesCited
from pipeline.steps.records import data_of

DONE = "[DONE]"
STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}

router = APIRouter(prefix="/v1", tags=["OpenAI's protocol"], responses=ERRORS)


class ChatMessage(BaseModel):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None

    def text(self) -> str:
        """Return the message's text; raises `BadRequest` for an image, a sound or a file."""
        if not isinstance(self.content, list):
            return self.content or ""
        for part in self.content:
            if part.get("type") != "text" or not isinstance(part.get("text"), str):
                kind = str(part.get("type"))[:40]
                problem = f"Athena reads only text, not message parts of the type '{kind}'."
                raise BadRequest(problem, "Send text parts only.", param="messages")
        return "\n".join(part["text"] for part in self.content)


class CompletionRequest(BaseModel):
    """A question in OpenAI's shape; nothing of it is stored.

    Fields that are not listed (temperature, tools …) and system messages are ignored. More than one choice,
    a forced tool, JSON, logprobs and audio are refused.
    """

    model: str = Field(MODEL, description="an id from GET /v1/models")
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=1_000)]
    stream: StrictBool | None = False
    stream_options: dict[str, Any] | None = Field(None, description="`include_usage` sends the tokens last")
    tool_choice: Literal["none", "auto"] | None = None
    n: Literal[1] | None = 1
    response_format: dict[Literal["type"], Literal["text"]] | None = None
    logprobs: Literal[False] | None = None
    modalities: list[Literal["text"]] | None = None
    audio: None = None

    def question(self) -> str:
        """Return the text of the last message; raises `BadRequest` unless it is a user's, with text."""
        last = self.messages[-1]
        if last.role != "user" or not last.text().strip():
            raise BadRequest("The last message asks nothing.", "End with a user's text.", param="messages")
        return last.text()

    def history(self) -> list[Message]:
        """Return the earlier messages of the user and the assistant."""
        return [
            Message(message.role, message.text())
            for message in self.messages[:-1]
            if message.content and (message.role == "user" or message.role == "assistant")
        ]


class ModelList(BaseModel):
    """The names for `model`."""

    object: Literal["list"] = "list"
    data: list[Model]


class Completion(ChatCompletion):
    """An answer in OpenAI's shape; `athena` has its exact citations, checks and steps."""

    athena: AnswerOut


@router.get("/models")
def models(_: Reads) -> ModelList:
    """List the values that a request may use for `model`."""
    return ModelList(data=[Model(id=one, created=0, object="model", owned_by=MODEL) for one in MODELS])


@router.post("/chat/completions", responses=STREAM, response_model=Completion)
def complete(request: CompletionRequest, context: Reads) -> Completion | EventSourceResponse:
    """Answer the last message; with `stream`, as server-sent events: the last delta has the citations."""
    question, asking = request.question(), asking_of(context, request.model)
    history = request.history()
    if request.stream:  # these errors must come before the status 200 of the stream
        check_length(question)
        require_index(context.athena.settings, context.athena.store)
        events = context.athena.astream(question, history=history, **asking)
        return EventSourceResponse(_stream(request, context, events, asking), sep="\n")
    answer = context.athena.ask(question, history=history, **asking)
    shape = answer_out(context, asking, answer)
    notes = _annotations(context, answer, shape.answer)
    message = ChatCompletionMessage(role="assistant", content=shape.answer, annotations=notes)
    choice = Choice(index=0, message=message, finish_reason=_finish_reason(answer))
    return Completion(
        **_head(request), object="chat.completion", choices=[choice], usage=_usage(answer), athena=shape
    )


async def _stream(
    request: CompletionRequest, context: RequestContext, events: AsyncGenerator[ChatEvent], asking: Asking
) -> AsyncIterator[str]:
    """Yield the data of OpenAI's events: each sentence once it is cited, all citations, and `[DONE]`.

    An error is sent as an event of its own, since the HTTP status was sent before.
    """
    head, sent = _head(request), ""
    yield _chunk(head, {"role": "assistant", "content": ""})
    try:
        async with aclosing(events):
            async for event in events:
                match event:
                    case SentencesCited(text=text) if text != sent:
                        yield _chunk(head, {"content": text.removeprefix(sent)})
                        sent = text
                    case AnswerFinished(answer=answer):
                        shape = await run_in_threadpool(answer_out, context, asking, answer)
                        rest = shape.answer[len(sent) :] if shape.answer.startswith(sent) else ""
                        notes = [one.model_dump() for one in _annotations(context, answer, shape.answer)]
                        delta, whole = {"content": rest, "annotations": notes}, shape.model_dump(mode="json")
                        yield _chunk(head, delta, finish_reason=_finish_reason(answer), athena=whole)
                        if (request.stream_options or {}).get("include_usage"):
                            yield _chunk(head, None, usage=_usage(answer).model_dump())
                    case RunFailed(error=error):
                        raise error
    except AthenaError as error:
        yield error_out(error).model_dump_json()
    yield DONE


def _head(request: CompletionRequest) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": request.model}


def _chunk(
    head: dict[str, Any], delta: dict[str, Any] | None, *, finish_reason: str | None = None, **more: Any
) -> str:
    """Return a chunk of a stream as JSON; without `delta`, `choices` is empty, as OpenAI sends the usage."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    choices = [choice] if delta is not None else []
    return json.dumps({**head, "object": "chat.completion.chunk", "choices": choices, **more})


def _annotations(context: RequestContext, answer: Answer, text: str) -> list[Annotation]:
    """Return an annotation for each citation number in the text's markers, except markers in code."""
    cited = {str(citation.marker): citation for citation in answer.citations}
    code = [match.span() for match in CODE.finditer(text)]
    return [
        Annotation(
            type="url_citation",
            url_citation=AnnotationURLCitation(
                start_index=match.start(),
                end_index=match.end(),
                title=" › ".join([cited[number].source, *cited[number].heading_path]),
                url=_url(context, cited[number]),
            ),
        )
        for match in MARKER.finditer(text)
        if not any(start <= match.start() < end for start, end in code)
        for number in match[1].replace(",", " ").split()
        if number in cited
    ]


def _url(context: RequestContext, citation: Citation) -> str:
    """Return a citation's URL: its span on the Documents page or, without pages, the API's document."""
    base = context.base_url.rstrip("/")
    if not context.page:
        return f"{base}/api/documents/{quote(citation.source)}"
    span = {"source": citation.source, "start": citation.start, "end": citation.end}
    return f"{base}/documents?{urlencode(span)}"


def _finish_reason(answer: Answer) -> Literal["stop", "length"]:
    return "length" if data_of(answer.steps, "generate").get("finish_reason") == "length" else "stop"


def _usage(answer: Answer) -> CompletionUsage:
    read, wrote = (answer.usage.tokens_in, answer.usage.tokens_out) if answer.usage else (0, 0)
    return CompletionUsage(prompt_tokens=read, completion_tokens=wrote, total_tokens=read + wrote)
