"""OpenAI's protocol: `POST /v1/chat/completions`, streaming and not, and `GET /v1/models`."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from athena.shapes import AnswerOut
from doors.asking import MODEL, Asked, answers, model_names
from doors.citing import source_events, url_citations
from doors.given import ERRORS, Here, here
from doors.keys import ENDED, SEND_A_KEY, NoKey, holds
from doors.refusals import Refusal, shape_of
from doors.running import EventStream, Run, Told, Work, told_by
from pipeline.answer import Answer
from pipeline.errors import AthenaError
from pipeline.messages import Message
from pipeline.steps.events import AnswerFinished, RunFailed, SentencesCited
from pipeline.steps.records import data_of

PING_TICKS = 15  # seconds without a word after which a comment keeps proxies from hanging up
PING = ": still at work\n\n"
DONE = "data: [DONE]\n\n"
TOO_MANY_MESSAGES = 1_000

STREAMED: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}}}

router = APIRouter(prefix="/v1", tags=["OpenAI's protocol"], responses=ERRORS)


class Part(BaseModel):
    """A part of a message's content; only text can be read."""

    model_config = ConfigDict(extra="allow")

    type: str
    text: str = ""


class GivenMessage(BaseModel):
    """One message of the conversation."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """Its text; raises `Refusal` for a picture, a sound or a file."""
        if not isinstance(self.content, list):
            return self.content or ""
        for part in self.content:
            if part.type != "text":
                raise Refusal(
                    400,
                    f"Nobody here can read a part of the type '{part.type:.40}'.",
                    "Send text alone.",
                    param="messages",
                )
        return "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    """What a stream has besides its words."""

    model_config = ConfigDict(extra="allow")

    include_usage: StrictBool = False


class Metadata(BaseModel):
    """What a client sends along; a stored conversation that is to go on, by its id."""

    model_config = ConfigDict(extra="allow")

    conversation_id: str = Field("", max_length=100)


class Completion(BaseModel):
    """A question in OpenAI's shape. Other fields of theirs are accepted where they change nothing here."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {"model": MODEL, "messages": [{"role": "user", "content": "What feeds the cabin fan?"}]}
            ]
        },
    )

    model: str = Field(MODEL, description="who answers: athena, athena:quotes or athena:PERSONA")
    messages: Annotated[list[GivenMessage], Field(min_length=1, max_length=TOO_MANY_MESSAGES)]
    stream: StrictBool | None = False
    stream_options: StreamOptions | None = None
    metadata: Metadata | None = None
    store: StrictBool | None = Field(False, description="keep the answer in a conversation of the key's user")
    n: StrictInt | None = 1
    tools: list[Any] | None = None
    tool_choice: Any = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    logprobs: StrictBool | None = None
    top_logprobs: StrictInt | None = None
    modalities: list[str] | None = None
    audio: Any = None
    web_search_options: Any = None
    stop: str | list[str] | None = None

    def refuse_what_cannot_be(self) -> None:
        """Raise `Refusal` for what would change the answer and is not done here."""
        wrong = {
            "n": self.n not in (None, 1),
            "tools": bool(self.tools) and self.tool_choice != "none",
            "tool_choice": self.tool_choice not in (None, "none", "auto"),
            "functions": bool(self.functions),
            "response_format": (self.response_format or {}).get("type", "text") != "text",
            "logprobs": bool(self.logprobs),
            "top_logprobs": bool(self.top_logprobs),
            "modalities": set(self.modalities or ()) - {"text"} != set(),
            "audio": self.audio is not None,
            "web_search_options": self.web_search_options is not None,
            "stop": bool(self.stop),
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                raise Refusal(400, f"`{name}` cannot be honoured here.", "Leave it out.", param=name)

    def asked(self) -> Asked:
        """The last message as the question, those before as the history; raises `Refusal`."""
        self.refuse_what_cannot_be()
        *before, last = self.messages
        if last.role != "user" or not any(map(str.isalnum, last.text)):
            raise Refusal(
                400, "The last message asks nothing.", "End with a user's message in words.", param="messages"
            )
        if any(message.role in ("tool", "function") for message in before):
            raise Refusal(
                400, "Results of tools cannot be read here.", "Leave those messages out.", param="messages"
            )
        return Asked(
            last.text,
            model=self.model,
            history=[
                Message(message.role, message.text)
                for message in before
                if message.role in ("user", "assistant")
            ],
            tone="\n".join(message.text for message in before if message.role in ("system", "developer")),
            conversation_id=self.metadata.conversation_id if self.metadata else "",
            store=bool(self.store),
        )


@router.get("/models", summary="Who can answer")
def models(asks: Annotated[Here, Depends(here)]) -> dict[str, Any]:
    """The names for `model`, in OpenAI's shape."""
    asks.caller.require("read")
    listed = [_model(name) for name in model_names(asks.athena)]
    return {"object": "list", "data": listed}


@router.get("/models/{name}", summary="One who can answer")
def model(name: str, asks: Annotated[Here, Depends(here)]) -> dict[str, Any]:
    """The same of one."""
    asks.caller.require("read")
    if name not in model_names(asks.athena):
        raise Refusal(404, f"There is no model '{name:.100}'.", "GET /v1/models lists them.", param="model")
    return _model(name)


@router.post("/chat/completions", summary="Ask, in OpenAI's shape", responses=STREAMED)
async def complete(
    given: Completion,
    asks: Annotated[Here, Depends(here)],
    x_athena_events: Annotated[str, Header(description="`sources`: Open WebUI's events, too")] = "",
) -> Response:
    """An answer with citations as `annotations`, and whole, as `athena ask --json` prints it, in `athena`."""
    asked, run = await run_in_threadpool(_asked, given, asks)
    reply = Reply(asks, asked, given, events=x_athena_events.strip().lower() == "sources")
    if given.stream:
        return EventStream(reply.stream(run), stop=asks.stop)
    return JSONResponse(await reply.whole(run))


def _asked(given: Completion, asks: Here) -> tuple[Asked, Run]:
    """The question, and what answers it; raises `Refusal`."""
    asked = given.asked()
    return asked, answers(asks.athena, asks.caller, asked)


class Reply:
    """One answer in OpenAI's shapes."""

    def __init__(self, asks: Here, asked: Asked, given: Completion, *, events: bool) -> None:
        self._asks = asks
        self._asked = asked
        self._usage_wanted = bool(given.stream_options and given.stream_options.include_usage)
        self._events = events
        self._head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": asked.model,
        }

    async def whole(self, run: Run) -> dict[str, Any]:
        """All of it at once; raises the error that ended it."""
        answer = await finished(run, self._asks)
        text, shape = await run_in_threadpool(self._shown, answer)
        message = {
            "role": "assistant",
            "content": text,
            "refusal": None,
            "annotations": url_citations(answer, text, self._asks.addresses),
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(answer)}
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": _usage(answer),
            "athena": shape,
        }

    async def stream(self, run: Run) -> AsyncIterator[str]:
        """The same piece by piece, as server-sent events."""
        yield self._chunk({"role": "assistant", "content": ""})
        quiet = 0
        try:
            async with aclosing(watched(self._chunks_of(run), self._asks)) as batches:
                async for chunks in batches:
                    quiet = 0 if chunks else quiet + 1
                    if quiet == PING_TICKS:
                        quiet, chunks = 0, [PING]
                    if chunks:
                        yield "".join(chunks)
        except AthenaError as error:
            yield _event(shape_of(error))
        yield DONE

    def _chunks_of(self, run: Run) -> Work[str]:
        """What is sent, made where the answer is."""

        def chunks(stop: threading.Event) -> Iterator[str]:
            sent = ""
            for event in words_of(run, stop):
                if isinstance(event, SentencesCited):
                    new, sent = event.text.removeprefix(sent), event.text
                    yield self._chunk({"content": new})
                else:
                    yield "".join(self._last(event.answer, sent))

        return chunks

    def _last(self, answer: Answer, sent: str) -> list[str]:
        """What is left to say of a finished answer, its citations, and what it cost."""
        text, shape = self._shown(answer)
        rest = text.removeprefix(sent) if text.startswith(sent) else ""
        cited = url_citations(answer, text, self._asks.addresses)
        chunks = [self._chunk({"content": rest})] if rest else []
        if self._events:
            chunks += map(_event, source_events(answer, self._asks.addresses))
        chunks.append(self._chunk({"annotations": cited}, finish=_finish_reason(answer), athena=shape))
        if self._usage_wanted:
            usage = {**self._head, "object": "chat.completion.chunk", "choices": [], "usage": _usage(answer)}
            chunks.append(_event(usage))
        return chunks

    def _shown(self, answer: Answer) -> tuple[str, dict[str, Any]]:
        shown, recalled = self._asks.athena.with_memories(answer, user=self._asks.caller.user)
        return shown.text, AnswerOut.of(self._asked.as_kept(shown), recalled).model_dump(mode="json")

    def _chunk(self, delta: dict[str, Any], *, finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event({**self._head, "object": "chat.completion.chunk", "choices": [choice], **more})


async def finished(run: Run, asks: Here) -> Answer:
    """The answer at its end; raises the error that ended it."""

    def ends(stop: threading.Event) -> Iterator[Answer]:
        return (event.answer for event in words_of(run, stop) if isinstance(event, AnswerFinished))

    async with aclosing(watched(ends, asks)) as batches:
        async for found in batches:
            for answer in found:
                return answer
    raise AthenaError("The answer ended unexpectedly.", "Ask again.")


def words_of(run: Run, stop: threading.Event) -> Iterator[SentencesCited | AnswerFinished]:
    """Yield the sentences of an answer with their citations, and its end; raises the error that ended it."""
    error: AthenaError | None = None
    for event in run(stop):
        if isinstance(event, SentencesCited | AnswerFinished):
            yield event
        elif isinstance(event, RunFailed):
            error = event.error or AthenaError(event.message, event.fix)
    if error:
        raise error


async def watched(work: Work[Told], asks: Here) -> AsyncGenerator[list[Told], None]:
    """What an answer's work tells, for as long as its key holds; raises the error that ended it."""
    looked = time.monotonic()
    async with aclosing(told_by(work, asks.stop)) as batches:
        async for told in batches:
            if time.monotonic() - looked >= 1:
                looked = time.monotonic()
                if not await run_in_threadpool(holds, asks.athena.keys, asks.caller):
                    raise NoKey(ENDED, SEND_A_KEY)
            yield told


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": MODEL}


def _finish_reason(answer: Answer) -> Literal["stop", "length"]:
    return "length" if data_of(answer.steps, "generate").get("finish_reason") == "length" else "stop"


def _usage(answer: Answer) -> dict[str, int] | None:
    """What the model reports; nothing where none was asked, None where it reports nothing."""
    data = data_of(answer.steps, "generate")
    read, wrote = data.get("prompt_tokens"), data.get("answer_tokens")
    if answer.mode != "generate":
        return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    if read is None or wrote is None:
        return None
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}


def _event(shape: dict[str, Any]) -> str:
    return f"data: {json.dumps(shape, ensure_ascii=False, default=str)}\n\n"
