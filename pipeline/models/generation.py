"""Generate text with any LlamaIndex model: streamed, stoppable, with one retry and clear errors.

The model is read in a thread of its own. That is why a stop takes effect at once although the server may
be silent: the reader is left behind, its connection is shut down, and it ends by itself.
"""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pipeline.errors import ModelError, ModelTimeout
from pipeline.messages import Message
from pipeline.models.characters import CharacterJoiner
from pipeline.models.failures import Server, interrupted, timed_out, translate, worth_retrying
from pipeline.models.transport import HangUpTransport

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatResponse
    from llama_index.core.llms import LLM

logger = logging.getLogger(__name__)

POLL_S = 0.05  # how soon a stop is noticed
RETRY_AFTER_S = 0.5
SILENCE_GRACE_S = 1.0  # the transport's own timeout should speak first; this one is for other models
CHARACTERS_A_TOKEN = 4.0
# A prompt that was read whole has at least this share of the estimated tokens, whatever the tokenizer.
WHOLE_PROMPT_SHARE = 0.6


@runtime_checkable
class ServedModel(Protocol):
    """A language model on a server: `AthenaOllama`, `AthenaOpenAI`."""

    @property
    def server(self) -> Server:
        """Where it is, for error messages."""

    def through(self, transport: HangUpTransport) -> LLM:
        """The same model, talking through connections that can be hung up."""


@dataclass(frozen=True, slots=True)
class Generation:
    """How a generation ended."""

    text: str
    finish_reason: str  # "stop", "length" (cut at the longest answer), "stopped" (by us); "" = not known
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    prompt_truncated: bool = False  # the server did not read the whole prompt
    seconds: float = 0.0

    @property
    def notice(self) -> str:
        """What the reader of the answer should know; empty when all is well."""
        if self.prompt_truncated:
            return (
                f"The model read only {self.prompt_tokens} tokens of a longer prompt: it may have missed "
                "sources. Raise ATHENA_CONTEXT_WINDOW or lower ATHENA_CONTEXT_TOKENS."
            )
        if self.finish_reason == "length":
            return "The answer was cut off at its longest length. Raise ATHENA_MAX_ANSWER_TOKENS."
        return ""


class ChatStream(Iterator[str]):
    """Pieces of text as they arrive; `text` grows, and `generation` says at the end how it went.

    An exception (`ModelUnavailable`, `ModelTimeout`, `AnswerInterrupted`, `ModelError`) leaves what had
    arrived in `text`. A stop ends the iteration without one.
    """

    def __init__(
        self,
        llm: LLM,
        messages: Sequence[Message],
        *,
        stop: threading.Event,
        deadline_s: float | None = None,
    ) -> None:
        self.text = ""
        self.generation: Generation | None = None
        self._llm = llm
        self._messages = list(messages)
        self._stop = stop
        self._server = llm.server if isinstance(llm, ServedModel) else _local_server(llm)
        self._started = time.monotonic()
        self._deadline = self._started + deadline_s if deadline_s else None
        self._deadline_s = deadline_s
        self._end = _End()
        self._pieces: Generator[str, None, None] = self._run()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._pieces)

    def close(self) -> None:
        """Hang up; safe at any time."""
        self._pieces.close()

    def _run(self) -> Generator[str, None, None]:
        try:
            yield from self._attempt()
        except _Passing as passing:
            logger.warning("retrying %s: %s", self._server.name, passing.error)
            if not self._stop.wait(RETRY_AFTER_S):
                yield from self._last_attempt()
        self.generation = self._ended()

    def _last_attempt(self) -> Iterator[str]:
        try:
            yield from self._attempt()
        except _Passing as passing:
            raise self._translated(passing.error) from passing.error

    def _attempt(self) -> Iterator[str]:
        """One call of the model; raises `_Passing` where a second one may do better."""
        self._end = _End(marked=isinstance(self._llm, ServedModel))
        reader = _Reader(self._llm, self._messages, server=self._server)
        try:
            yield from self._pieces_of(reader)
        except ModelError:
            raise
        except Exception as error:
            if not self.text and worth_retrying(error):
                raise _Passing(error) from error
            raise self._translated(error) from error
        finally:
            reader.hang_up()

    def _pieces_of(self, reader: _Reader) -> Iterator[str]:
        characters = CharacterJoiner()
        for response in self._responses(reader):
            self._end.note(response)
            if piece := characters.join(response.delta or ""):
                self.text += piece
                yield piece
        if not self._stop.is_set() and self._end.missing:
            raise interrupted(self._server, "the connection ended without an end of the answer")

    def _responses(self, reader: _Reader) -> Iterator[ChatResponse]:
        """Responses until the end, a stop, or too long a silence."""
        heard = time.monotonic()
        while not self._stop.is_set():
            try:
                item = reader.items.get(timeout=POLL_S)
            except queue.Empty:
                self._check_patience(heard)
                continue
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            heard = time.monotonic()
            yield item
            self._check_patience(heard)

    def _check_patience(self, heard: float) -> None:
        now = time.monotonic()
        if self._deadline is not None and now >= self._deadline:
            raise ModelTimeout(
                f"{self._server.name} at {self._server.url} was not done within {self._deadline_s:g} s.",
                "Choose a smaller model, or allow it more time.",
            )
        if now - heard > self._server.timeout_s + SILENCE_GRACE_S:
            raise timed_out(self._server)

    def _translated(self, error: Exception) -> ModelError:
        return translate(error, server=self._server, begun=bool(self.text))

    def _ended(self) -> Generation:
        stopped = self._stop.is_set() and not self._end.reason
        return Generation(
            text=self.text,
            finish_reason="stopped" if stopped else self._end.reason,
            prompt_tokens=self._end.prompt_tokens,
            answer_tokens=self._end.answer_tokens,
            prompt_truncated=self._truncated(),
            seconds=time.monotonic() - self._started,
        )

    def _truncated(self) -> bool:
        """True where the server counts fewer prompt tokens than there were, or as many as it can hold."""
        read = self._end.prompt_tokens
        if not read or self._server.provider != "ollama":
            return False  # OpenAI's servers refuse a prompt that is too long; a count of 0 is a cached prompt
        estimate = sum(len(message.text) for message in self._messages) / CHARACTERS_A_TOKEN
        return read >= self._llm.metadata.context_window - 1 or read < WHOLE_PROMPT_SHARE * estimate


def stream_chat(llm: LLM, messages: Sequence[Message], *, stop: threading.Event) -> ChatStream:
    """Stream the answer to some messages; setting `stop` ends it within about 0.1 s.

    One retry, only before the first token, on a failed connection, HTTP 429 or 5xx.
    """
    return ChatStream(llm, messages, stop=stop)


def complete(llm: LLM, prompt: str, *, timeout_s: float, stop: threading.Event | None = None) -> str:
    """The whole answer to one prompt; raises `ModelTimeout` when it takes longer than `timeout_s`.

    When `stop` is set meanwhile, what had arrived by then comes back.
    """
    stream = ChatStream(llm, [Message("user", prompt)], stop=stop or threading.Event(), deadline_s=timeout_s)
    return "".join(stream)


class _Passing(Exception):
    """A failure that may pass by itself."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class _Reader:
    """Reads one streamed answer in a daemon thread into a queue: responses, then None or an exception."""

    def __init__(self, llm: LLM, messages: Sequence[Message], *, server: Server) -> None:
        self.items: queue.SimpleQueue[ChatResponse | Exception | None] = queue.SimpleQueue()
        self._transport: HangUpTransport | None = None
        if isinstance(llm, ServedModel):
            self._transport = HangUpTransport(
                connect_timeout_s=server.connect_timeout_s, read_timeout_s=server.timeout_s
            )
            llm = llm.through(self._transport)
        self._left = threading.Event()
        # The caller's context goes along, so that traces of the model's call hang under the caller's span.
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(self._read, llm, messages), name="athena-llm", daemon=True
        ).start()

    def hang_up(self) -> None:
        """Leave the reader behind and end its connection."""
        self._left.set()
        if self._transport:
            self._transport.hang_up()

    def _read(self, llm: LLM, messages: Sequence[Message]) -> None:
        from llama_index.core.base.llms.types import ChatMessage

        try:
            chat = [ChatMessage(role=message.role, content=message.text) for message in messages]
            for response in llm.stream_chat(chat):
                self.items.put(response)
                if self._left.is_set():
                    break
            self.items.put(None)
        except Exception as error:  # noqa: BLE001 - the caller's thread raises it
            self.items.put(error)
        finally:
            if self._transport:
                self._transport.close()


class _End:
    """What a stream says about its own end, in Ollama's words or OpenAI's; other models say nothing."""

    def __init__(self, *, marked: bool = False) -> None:
        self.reason = ""
        self.prompt_tokens: int | None = None
        self.answer_tokens: int | None = None
        self._marked = marked  # the protocol is one that marks its end

    @property
    def missing(self) -> bool:
        """True where the protocol marks its end and this stream has not."""
        return self._marked and not self.reason

    def note(self, response: ChatResponse) -> None:
        """Read one response's raw part."""
        raw = response.raw
        if isinstance(raw, dict) and "done" in raw:
            self._note_ollama(raw)
        elif hasattr(raw, "choices"):
            self._note_openai(raw)

    def _note_ollama(self, raw: dict[str, Any]) -> None:
        self._marked = True
        if raw["done"]:
            self.reason = raw.get("done_reason") or "stop"
            self.prompt_tokens, self.answer_tokens = raw.get("prompt_eval_count"), raw.get("eval_count")

    def _note_openai(self, raw: Any) -> None:
        self._marked = True
        if raw.choices and raw.choices[0].finish_reason:
            self.reason = raw.choices[0].finish_reason
        if getattr(raw, "usage", None):
            self.prompt_tokens, self.answer_tokens = raw.usage.prompt_tokens, raw.usage.completion_tokens


def _local_server(llm: LLM) -> Server:
    """A name for a model that is not ours, and no limit of our own to its silence."""
    return Server("local", "this process", llm.metadata.model_name, timeout_s=float("inf"))
