"""Generate text with any LlamaIndex model: streamed, stoppable, thoughts apart, with clear errors.

A thread of its own reads the model. So a stop takes effect at once although the server may be silent: its
connection is cut off, and the thread ends by itself.
"""

from __future__ import annotations

import codecs
import contextvars
import logging
import queue
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from pipeline.errors import ModelTimeout
from pipeline.messages import Message, MessageWithImage
from pipeline.models.connections import Call
from pipeline.models.failures import quoted, translate, worth_retrying
from pipeline.models.llm import longest_answer, server_of
from pipeline.models.thinking import CLOSE, ThinkingSplitter
from pipeline.models.tokens import count_tokens
from pipeline.steps.spending import Spent, account
from pipeline.words import well_formed

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.llms import LLM

logger = logging.getLogger(__name__)

POLL_S = 0.1  # how soon a stop is noticed
RETRY_AFTER_S = 0.5
CHARACTERS_A_TOKEN = 4.0
LONGEST_TOKENS = 12  # characters a token, on average, in an answer that is still taken for a proper one
WHOLE_PROMPT_SHARE = 0.6  # a prompt that was read whole has this share of the estimated tokens, at least
MOST_COUNT = 2**48  # sums of such numbers fit into 64 bits
CONTROL = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r"}

TRUNCATED = (
    "The model read only {tokens} tokens of a longer prompt: it may have missed sources. "
    "Raise ATHENA_CONTEXT_WINDOW or lower ATHENA_CONTEXT_TOKENS."
)
ALL_THOUGHT = (
    "The model used its whole answer for thinking. Raise ATHENA_MAX_ANSWER_TOKENS, or choose another."
)
ONLY_THOUGHT = "The model thought, and wrote no answer. Ask again, or choose another model."
CUT = "The answer was cut off at its longest length. Raise ATHENA_MAX_ANSWER_TOKENS."


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer, or of the thoughts before it."""

    text: str = ""
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class Generation:
    """How a generation ended; counts are None where the server did not report them."""

    finish_reason: (
        str  # "stop", "length", "stopped" (by the user), another word of the server's; "" = unknown
    )
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    prompt_truncated: bool = False  # the server did not read the whole prompt
    seconds: float = 0.0
    notice: str = ""  # for the reader of the answer; "" when all is well


@dataclass(frozen=True, slots=True)
class _Chunk:
    """One message of a model's stream, and all of them together in the end."""

    text: str = ""
    thinking: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None


_Chunks: TypeAlias = "queue.SimpleQueue[_Chunk | Exception | None]"  # None or an exception is the last


class ChatStream(Iterator[Delta]):
    """An answer as it arrives; `text` and `thinking` grow, and `generation` is there at the end.

    Setting `stop` ends it within about 0.1 s, without an exception; so does `close`. `deadline_s` limits the
    whole answer. `json_schema` is sent to servers that can keep to one. A lost connection, HTTP 429 or 5xx
    before the first piece leads to one retry. Raises `ModelUnavailable`, `ModelTimeout`, `AnswerInterrupted`
    or `ModelError`; what had arrived stays in `text`.
    """

    def __init__(
        self,
        llm: LLM,
        messages: Sequence[Message],
        *,
        stop: threading.Event,
        deadline_s: float | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> None:
        self.text = self.thinking = ""
        self.generation: Generation | None = None
        self._llm, self._messages, self._stop = llm, list(messages), stop
        self._started, self._deadline_s = time.monotonic(), deadline_s
        self._schema = json_schema
        self._server = server_of(llm)
        self._most_characters = LONGEST_TOKENS * longest_answer(llm)  # 0: any number
        self._end = _Chunk()
        self._account = account.get()
        self._deltas = self._run()

    def __next__(self) -> Delta:
        return next(self._deltas)

    def close(self) -> None:
        """Hang up; safe at any time."""
        self._deltas.close()

    def _run(self) -> Generator[Delta, None, None]:
        try:
            for is_last in (False, True):
                try:
                    yield from self._attempt()
                    break
                except Exception as error:  # any library's model may raise anything
                    begun = bool(self.text or self.thinking)
                    if not (is_last or begun) and worth_retrying(error):
                        logger.warning("asking %s again: %s", self._server.name, quoted(str(error)))
                        self._stop.wait(RETRY_AFTER_S)
                        continue
                    raise translate(error, server=self._server, begun=begun) from error
            self.generation = self._ended()
        finally:
            self._note_tokens()

    def _attempt(self) -> Iterator[Delta]:
        call, chunks = Call(), queue.SimpleQueue[_Chunk | Exception | None]()
        # The caller's context goes along, so that traces of the model's call hang under the caller's span.
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=(self._read, call, chunks), name="athena-llm", daemon=True).start()
        try:
            yield from self._pieces(chunks)
        finally:
            call.cut_off()

    def _read(self, call: Call, chunks: _Chunks) -> None:
        call.begin()
        try:
            schema = _schema_arguments(self._server.provider, self._schema)
            for response in self._llm.stream_chat([_chat_message(one) for one in self._messages], **schema):
                chunks.put(_chunk_of(response))
                self._check_deadline()
                if call.is_cut_off:
                    return
            chunks.put(None)
        except Exception as error:  # noqa: BLE001 - the caller's thread raises it
            chunks.put(error)
        finally:
            call.end()

    def _arriving(self, chunks: _Chunks) -> Iterator[_Chunk]:
        """Yield chunks until the end or a stop; what has arrived is in time, however late the caller asks."""
        while not self._stop.is_set():
            try:
                chunk = chunks.get(timeout=POLL_S)
            except queue.Empty:
                self._check_deadline()
                continue
            if isinstance(chunk, Exception):
                raise chunk
            if chunk is None:
                return
            yield chunk

    def _check_deadline(self) -> None:
        if self._deadline_s and time.monotonic() > self._started + self._deadline_s:
            problem = f"{self._server.place} was not done within {self._deadline_s:g} s."
            raise ModelTimeout(problem, "Choose a smaller model, or allow it more time in the settings.")

    def _pieces(self, chunks: _Chunks) -> Iterator[Delta]:
        splitter, joiner = ThinkingSplitter(), codecs.getincrementaldecoder("utf-16-le")("replace")
        for chunk in self._arriving(chunks):
            self._end = _merged(self._end, chunk)
            joined = joiner.decode(chunk.text.encode("utf-16-le", "surrogatepass"))  # halves of characters
            text, thoughts = splitter.split(joined.translate(CONTROL))
            yield from self._added(text, chunk.thinking + thoughts)
            if 0 < self._most_characters < len(self.text):
                self._end = replace(self._end, finish_reason="length")  # the server keeps to no limit
                return
        yield from self._added(*splitter.rest())
        if not (self._stop.is_set() or self._end.finish_reason or self._may_end_here):
            raise EOFError("the connection ended before the answer did")

    def _added(self, text: str, thinking: str) -> Iterator[Delta]:
        text, thinking = text if self.text else text.lstrip(), well_formed(thinking)
        self.text += text
        self.thinking += thinking
        if text or thinking:
            yield Delta(text, thinking)

    @property
    def _may_end_here(self) -> bool:
        """Whether a stream may end without a reason: Ollama's may not, OpenAI's not before the first word."""
        provider = self._server.provider
        return provider == "local" or (provider == "openai" and bool(self.text or self.thinking))

    def _ended(self) -> Generation:
        end = self._end
        reason = quoted(end.finish_reason) or ("stopped" if self._stop.is_set() else "")
        truncated = self._is_truncated(end.prompt_tokens)
        notice = ""
        if truncated:
            notice = TRUNCATED.format(tokens=end.prompt_tokens)
        elif reason == "length":
            notice = CUT if self.text else ALL_THOUGHT
        elif self.thinking and not self.text and reason != "stopped":
            notice = ONLY_THOUGHT
        seconds = time.monotonic() - self._started
        return Generation(reason, end.prompt_tokens, end.answer_tokens, truncated, seconds, notice)

    def _is_truncated(self, read: int | None) -> bool:
        """Return True where Ollama counts fewer prompt tokens than there were, or as many as it can hold."""
        if not read or self._server.provider != "ollama":
            return False  # OpenAI's servers refuse a prompt that is too long; 0 is a cached prompt
        estimate = sum(len(message.text) for message in self._messages) / CHARACTERS_A_TOKEN
        return read >= self._llm.metadata.context_window - 1 or read < WHOLE_PROMPT_SHARE * estimate

    def _note_tokens(self) -> None:
        """Note the tokens for the turn's usage, unless the model failed before the first piece."""
        if self._account is None or not (self.text or self.thinking or self.generation):
            return
        read, wrote = self._end.prompt_tokens, self._end.answer_tokens
        estimated = not read or wrote is None
        read = read or sum(count_tokens(message.text) for message in self._messages)
        wrote = count_tokens(self.thinking + self.text) if wrote is None else wrote
        self._account.append(Spent(self._server.name, read, wrote, estimated))


def complete(
    llm: LLM,
    messages: str | Sequence[Message],
    *,
    timeout_s: float,
    stop: threading.Event | None = None,
    json_schema: Mapping[str, Any] | None = None,
) -> str:
    """Return the whole reply to one prompt or to messages, without thoughts; after a stop, what had arrived.

    Raises as `ChatStream`; `ModelTimeout` where it takes longer than `timeout_s`.
    """
    messages = [Message("user", messages)] if isinstance(messages, str) else messages
    stop = stop or threading.Event()
    stream = ChatStream(llm, messages, stop=stop, deadline_s=timeout_s, json_schema=json_schema)
    for _ in stream:
        pass
    return stream.text.rpartition(CLOSE)[2].strip()  # some templates open the thoughts in the prompt


def _merged(end: _Chunk, chunk: _Chunk) -> _Chunk:
    """Return the end of a stream as far as it is known; the counts may come after the reason."""
    return _Chunk(
        finish_reason=chunk.finish_reason or end.finish_reason,
        prompt_tokens=end.prompt_tokens if chunk.prompt_tokens is None else chunk.prompt_tokens,
        answer_tokens=end.answer_tokens if chunk.answer_tokens is None else chunk.answer_tokens,
    )


def _chunk_of(response: ChatResponse) -> _Chunk:
    """Return what one response of LlamaIndex says; `raw` is Ollama's line, OpenAI's chunk, or anything."""
    text, thinking = response.delta or "", response.additional_kwargs.get("thinking_delta") or ""
    raw: Any = response.raw
    if isinstance(raw, Mapping):
        reason = str(raw.get("done_reason") or "stop") if raw.get("done") else ""
        return _Chunk(
            text, thinking, reason, _count(raw.get("prompt_eval_count")), _count(raw.get("eval_count"))
        )
    choices, usage = getattr(raw, "choices", None), getattr(raw, "usage", None)
    reason = str(getattr(choices[0], "finish_reason", "") or "") if choices else ""
    read, wrote = (_count(getattr(usage, name, None)) for name in ("prompt_tokens", "completion_tokens"))
    return _Chunk(text, thinking, reason, read, wrote)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < MOST_COUNT else None


def _chat_message(message: Message) -> ChatMessage:
    from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock

    if not isinstance(message, MessageWithImage):
        return ChatMessage(role=message.role, content=message.text)
    shown = ImageBlock(image=message.image, image_mimetype=message.media_type)
    return ChatMessage(role=message.role, blocks=[shown, TextBlock(text=message.text)])


def _schema_arguments(provider: str, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments by which a server of this kind keeps to a JSON schema."""
    if schema is None or provider == "local":
        return {}
    if provider == "ollama":
        return {"format": schema}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}}
