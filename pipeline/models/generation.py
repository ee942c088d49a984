"""Generate text with any LlamaIndex model: streamed, stoppable, with one retry and clear errors.

The model is read in a thread of its own. That is why a stop takes effect at once although the server may
be silent: the reader is left behind, its connection is shut down, and it ends by itself.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import ModelError, ModelTimeout
from pipeline.messages import Message
from pipeline.models.characters import CharacterJoiner
from pipeline.models.deltas import Delta, ServedModel
from pipeline.models.failures import Server, interrupted, timed_out, translate, worth_retrying
from pipeline.models.reader import AnswerReader

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

logger = logging.getLogger(__name__)

POLL_S = 0.1  # how soon a stop is noticed
RETRY_AFTER_S = 0.5
SILENCE_GRACE_S = 1.0  # the transport's own timeout should speak first; this one is for other models
CHARACTERS_A_TOKEN = 4.0
# A prompt that was read whole has at least this share of the estimated tokens, whatever the tokenizer.
WHOLE_PROMPT_SHARE = 0.6


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
        reader = AnswerReader(self._llm, self._messages)
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

    def _pieces_of(self, reader: AnswerReader) -> Iterator[str]:
        characters = CharacterJoiner()
        for deltas in self._arrivals(reader):
            for delta in deltas:
                self._end.note(delta)
            if piece := characters.join("".join(delta.text for delta in deltas)):
                self.text += piece
                yield piece
        if not self._stop.is_set() and self._end.missing:
            raise interrupted(self._server, "the connection ended without an end of the answer")

    def _arrivals(self, reader: AnswerReader) -> Iterator[list[Delta]]:
        """What has arrived since the last look, until the end, a stop, or too long a silence."""
        heard = time.monotonic()
        while not self._stop.is_set():
            try:
                deltas = reader.take(timeout_s=POLL_S)
            except queue.Empty:
                self._check_patience(heard)
                continue
            if not deltas:
                return
            heard = time.monotonic()
            yield deltas
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


class _End:
    """What a stream has said of its own end; models of unknown protocols say nothing."""

    def __init__(self, *, marked: bool = False) -> None:
        self.reason = ""
        self.prompt_tokens: int | None = None
        self.answer_tokens: int | None = None
        self._marked = marked  # the protocol is one that marks its end

    @property
    def missing(self) -> bool:
        """True where the protocol marks its end and this stream has not."""
        return self._marked and not self.reason

    def note(self, delta: Delta) -> None:
        """Keep what one message says of it; the counts may come after the reason."""
        self._marked = self._marked or delta.marked
        self.reason = delta.reason or self.reason
        if delta.prompt_tokens is not None or delta.answer_tokens is not None:
            self.prompt_tokens, self.answer_tokens = delta.prompt_tokens, delta.answer_tokens


def _local_server(llm: LLM) -> Server:
    """A name for a model that is not ours, and no limit of our own to its silence."""
    return Server("local", "this process", llm.metadata.model_name, timeout_s=float("inf"))
