"""OpenAI's protocol: `GET /v1/models` and `POST /v1/chat/completions`, whole and as a stream."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictBool
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool

from athena.assistant import Asking
from athena.shapes import AnswerOut
from doors.access import Reads, RequestContext
from doors.answering import MODEL, Question, answer_out, asking_of, events, finished, model_names
from doors.errors import ERRORS, BadRequest, error_out
from pipeline.answer import Answer, Citation
from pipeline.answering.citations import CODE, MARKER
from pipeline.errors import AthenaError
from pipeline.messages import Message
from pipeline.steps.events import AnswerFinished, SentencesCited
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
                problem = f"Athena reads text alone, and no message part of the type '{kind}'."
                raise BadRequest(problem, "Send text parts only.", param="messages")
        return "\n".join(part["text"] for part in self.content)


class Metadata(BaseModel):
    """Metadata of a request; `conversation_id` continues a stored conversation."""

    conversation_id: str = Field("", max_length=100)


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: StrictBool = False


class ResponseFormat(BaseModel):
    """The format of an answer, which is text."""

    type: Literal["text"]


class CompletionRequest(BaseModel):
    """A question in OpenAI's shape.

    Fields that are not listed (temperature, max_tokens …) change nothing. `tools` are accepted, and never
    called. What an answer cannot do (two choices, a forced tool, JSON, sound) is refused.
    """

    model: str = Field(MODEL, description="a name of GET /v1/models")
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=1_000)]
    stream: StrictBool | None = False
    stream_options: StreamOptions | None = None
    metadata: Metadata | None = None
    store: StrictBool | None = Field(False, description="store the answer in a new conversation")
    tools: list[dict[str, Any]] | None = None
    tool_choice: Literal["none", "auto"] | None = None
    n: Literal[1] | None = 1
    response_format: ResponseFormat | None = None
    logprobs: Literal[False] | None = None
    modalities: list[Literal["text"]] | None = None
    audio: None = None

    def question(self) -> Question:
        """Return the last message as the question and the others as its history; raises `BadRequest`."""
        *before, last = self.messages
        if last.role != "user" or not last.text().strip():
            raise BadRequest("The last message asks nothing.", "End with a user's text.", param="messages")
        said = [(message.role, message.text()) for message in before if message.content]
        return Question(
            last.text(),
            model=self.model,
            history=[Message(role, text) for role, text in said if role == "user" or role == "assistant"],
            tone="\n".join(text for role, text in said if role in ("system", "developer")),
            conversation_id=self.metadata.conversation_id if self.metadata else "",
            store=bool(self.store),
        )


class ModelOut(BaseModel):
    """One name for `model`."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = MODEL


class ModelList(BaseModel):
    """The names for `model`."""

    object: Literal["list"] = "list"
    data: list[ModelOut]


class UrlCitation(BaseModel):
    """A source, and the offsets of its marker in the text."""

    start_index: int
    end_index: int
    title: str
    url: str


class Annotation(BaseModel):
    """A citation, in the shape of OpenAI's web search."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class AssistantMessage(BaseModel):
    """The answer with its citations."""

    role: Literal["assistant"] = "assistant"
    content: str
    annotations: list[Annotation]


class ChoiceOut(BaseModel):
    """The one choice of a completion."""

    index: int = 0
    message: AssistantMessage
    finish_reason: Literal["stop", "length"]


class TokenUsage(BaseModel):
    """The tokens that language models read and wrote."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    """An answer in OpenAI's shape; `athena` has its exact citations, checks and steps."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChoiceOut]
    usage: TokenUsage
    athena: AnswerOut


@router.get("/models")
def models(context: Reads) -> ModelList:
    """List the names for `model`."""
    return ModelList(data=[ModelOut(id=name) for name in model_names(context.athena)])


@router.post("/chat/completions", responses=STREAM, response_model=Completion)
async def complete(request: CompletionRequest, context: Reads) -> Completion | EventSourceResponse:
    """Answer the last message; with `stream` as server-sent events, whose last delta has the citations."""
    question = request.question()
    if request.stream:
        asking = await run_in_threadpool(asking_of, context, question)
        usage = bool(request.stream_options and request.stream_options.include_usage)
        return EventSourceResponse(_stream(context, question, asking, with_usage=usage), sep="\n")
    answer, shape = await finished(context, question)
    message = AssistantMessage(content=shape.answer, annotations=_annotations(context, answer, shape.answer))
    choice = ChoiceOut(message=message, finish_reason=_finish_reason(answer))
    return Completion(**_head(question), choices=[choice], usage=_usage(answer), athena=shape)


async def _stream(
    context: RequestContext, question: Question, asking: Asking, *, with_usage: bool
) -> AsyncIterator[str]:
    """Yield the data of OpenAI's events: each sentence once it is cited, all citations, and `[DONE]`.

    An error is an event of its own: the status was sent before.
    """
    head, sent = _head(question), ""
    yield _chunk(head, {"role": "assistant", "content": ""})
    try:
        async with aclosing(events(context, question, asking)) as arriving:
            async for event in arriving:
                if isinstance(event, SentencesCited) and event.text != sent:
                    yield _chunk(head, {"content": event.text.removeprefix(sent)})
                    sent = event.text
                elif isinstance(event, AnswerFinished):
                    answer = event.answer
                    shape = await run_in_threadpool(answer_out, context, question, answer)
                    rest = shape.answer[len(sent) :] if shape.answer.startswith(sent) else ""
                    notes = [one.model_dump() for one in _annotations(context, answer, shape.answer)]
                    delta, whole = {"content": rest, "annotations": notes}, shape.model_dump(mode="json")
                    yield _chunk(head, delta, finish_reason=_finish_reason(answer), athena=whole)
                    if with_usage:
                        yield _chunk(head, None, usage=_usage(answer).model_dump())
    except AthenaError as error:
        yield error_out(error).model_dump_json()
    yield DONE


def _head(question: Question) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": question.model}


def _chunk(
    head: dict[str, Any], delta: dict[str, Any] | None, *, finish_reason: str | None = None, **more: Any
) -> str:
    """Return a chunk of a stream as JSON; without a delta it has no choice, as OpenAI sends the usage."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    choices = [choice] if delta is not None else []
    return json.dumps({**head, "object": "chat.completion.chunk", "choices": choices, **more})


def _annotations(context: RequestContext, answer: Answer, text: str) -> list[Annotation]:
    """Return a citation for each number of each marker in the text; code has no markers."""
    cited = {str(citation.marker): citation for citation in answer.citations}
    code = [match.span() for match in CODE.finditer(text)]
    return [
        Annotation(
            url_citation=UrlCitation(
                start_index=match.start(),
                end_index=match.end(),
                title=" › ".join([cited[number].file, *cited[number].heading_path]),
                url=_url(context, cited[number]),
            )
        )
        for match in MARKER.finditer(text)
        if not any(start <= match.start() < end for start, end in code)
        for number in match[1].replace(",", " ").split()
        if number in cited
    ]


def _url(context: RequestContext, citation: Citation) -> str:
    """Return where a citation can be read: on the page at its span, or as a document of the API."""
    base = context.base_url.rstrip("/")
    if not context.page:
        return f"{base}/api/documents/{quote(citation.source)}"
    span = {"source": citation.source, "start": citation.start, "end": citation.end}
    return f"{base}/documents?{urlencode(span)}"


def _finish_reason(answer: Answer) -> Literal["stop", "length"]:
    return "length" if data_of(answer.steps, "generate").get("finish_reason") == "length" else "stop"


def _usage(answer: Answer) -> TokenUsage:
    read, wrote = (answer.usage.tokens_in, answer.usage.tokens_out) if answer.usage else (0, 0)
    return TokenUsage(prompt_tokens=read, completion_tokens=wrote, total_tokens=read + wrote)
