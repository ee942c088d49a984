"""Generate text with any LlamaIndex model: streamed, stoppable, with one retry and clear errors.

A thread of its own reads the model. So a stop takes effect at once although the server may be silent: the
reader is left behind, its connection is shut down, and it ends by itself.
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
from pipeline.models.failures import interrupted, quoted, timed_out, translate, worth_retrying
from pipeline.models.llm import longest_answer, server_of
from pipeline.models.reader import AnswerReader, CharacterJoiner, Delta
from pipeline.redaction import heard, redactor
from pipeline.steps.spending import Spent, account

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

logger = logging.getLogger(__name__)

POLL_S = 0.1  # how soon a stop is noticed
RETRY_AFTER_S = 0.5
SILENCE_GRACE_S = 1.0  # the connection's own timeout should speak first; this one also counts name lookups
CHARACTERS_A_TOKEN = 4.0
LONGEST_TOKENS = 12
"""Characters that an answer's tokens may have on average before it counts as one that does not end; those of
English have 4 to 5."""
CONTROL = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r"}
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
    overlong: bool = False  # the server went on beyond the length that it was given

    @property
    def notice(self) -> str:
        """What the reader of the answer should know; empty when all is well."""
        if self.prompt_truncated:
            return (
                f"The model read only {self.prompt_tokens} tokens of a longer prompt: it may have missed "
                "sources. Raise ATHENA_CONTEXT_WINDOW or lower ATHENA_CONTEXT_TOKENS."
            )
        if self.overlong:
            return (
                "The model's server did not keep to ATHENA_MAX_ANSWER_TOKENS: its answer was cut off there."
            )
        if self.finish_reason == "length":
            return "The answer was cut off at its longest length. Raise ATHENA_MAX_ANSWER_TOKENS."
        return ""


class ChatStream(Iterator[str]):
    """Pieces of text as they arrive; `text` grows, and `generation` says at the end how it went.

    Setting `stop` ends it within about 0.1 s, without an exception. There is one retry, only before the first
    token, on a failed connection, HTTP 429 or 5xx. An exception (`ModelUnavailable`, `ModelTimeout`,
    `AnswerInterrupted`, `ModelError`) leaves what had arrived in `text`. `deadline_setting` is what a user
    can raise to get more time, if anything is.
    """

    def __init__(
        self,
        llm: LLM,
        messages: Sequence[Message],
        *,
        stop: threading.Event,
        deadline_s: float | None = None,
        deadline_setting: str = "",
    ) -> None:
        self.text = ""
        self.generation: Generation | None = None
        self._llm = llm
        self._messages = list(messages)
        self._stop = stop
        self._server = server_of(llm)
        self._served = self._server.provider != "local"
        self._started = time.monotonic()
        self._deadline_s = deadline_s
        self._deadline_setting = deadline_setting
        self._longest = LONGEST_TOKENS * longest_answer(llm) if self._served else 0  # characters; 0 = any
        self._overlong = False
        self._end = Delta()
        self._account = account.get()
        self._pieces = self._run()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._pieces)

    def close(self) -> None:
        """Hang up; safe at any time."""
        self._pieces.close()

    def _run(self) -> Generator[str, None, None]:
        retry = False
        try:
            try:
                yield from self._attempt(last=False)
            except _WorthRetrying as failure:
                logger.warning("retrying %s: %s", self._server.name, heard(str(failure.__cause__)))
                retry = not self._stop.wait(RETRY_AFTER_S)
            if retry:  # not above: the first failure would count among the causes of the second
                yield from self._attempt(last=True)
            self.generation = self._ended()
        finally:
            self._note()

    def _note(self) -> None:
        """Note what it took, unless it failed before the first word."""
        if self._account is None or not (self.text or self.generation):
            return
        from pipeline.models.tokens import count_tokens

        read, wrote = self._end.prompt_tokens, self._end.answer_tokens
        estimated = not read or (wrote is None)
        read = read or sum(count_tokens(message.text) for message in self._messages)
        wrote = count_tokens(self.text) if wrote is None else wrote
        self._account.append(Spent(self._server.name, read, wrote, estimated))

    def _attempt(self, *, last: bool) -> Iterator[str]:
        """One call of the model; raises `_WorthRetrying` where a second one may do better."""
        self._end = Delta()
        reader = AnswerReader(self._llm, self._messages, served=self._served)
        try:
            yield from self._pieces_of(reader)
        except ModelError:
            raise
        except Exception as error:
            if not (last or self.text) and worth_retrying(error):
                raise _WorthRetrying from error
            raise translate(error, server=self._server, begun=bool(self.text)) from error
        finally:
            reader.hang_up()

    def _pieces_of(self, reader: AnswerReader) -> Iterator[str]:
        characters, redacting = CharacterJoiner(), redactor().stream()
        try:
            for deltas in self._arrivals(reader):
                for delta in deltas:
                    self._end = _later(self._end, delta)
                said = characters.join("".join(delta.text for delta in deltas)).translate(CONTROL)
                yield from self._said(redacting.take(said))
                if self._overlong:
                    return
        except Exception:
            yield from self._said(redacting.end())
            raise
        yield from self._said(redacting.end())
        if self._served and not self._stop.is_set() and not self._end.reason:
            words = "the connection ended without an end of the answer"
            raise interrupted(self._server, words if self.text else "it ended without a word")

    def _said(self, piece: str) -> Iterator[str]:
        """The piece, as far as the answer may go on."""
        if self._longest and len(self.text) + len(piece) > self._longest:
            piece = piece[: self._longest - len(self.text)]
            self._overlong = True
        if piece:
            self.text += piece
            yield piece

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
        now, setting = time.monotonic(), self._deadline_setting
        if self._deadline_s and now >= self._started + self._deadline_s:
            raise ModelTimeout(
                f"{self._server.place} was not done within {self._deadline_s:g} s.",
                "Choose a smaller model" + (f", or raise {setting}." if setting else "."),
            )
        if now - heard > self._server.timeout_s + SILENCE_GRACE_S:
            raise timed_out(self._server)

    def _ended(self) -> Generation:
        stopped = self._stop.is_set() and not self._end.reason
        return Generation(
            text=self.text,
            finish_reason="stopped" if stopped else "length" if self._overlong else quoted(self._end.reason),
            overlong=self._overlong,
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


def complete(
    llm: LLM, prompt: str, *, timeout_s: float, setting: str = "", stop: threading.Event | None = None
) -> str:
    """The whole answer to one prompt; raises `ModelTimeout` when it takes longer than `timeout_s`.

    When `stop` is set meanwhile, returns what had arrived by then. `setting` is what gives it more time.
    """
    return generate(llm, prompt, timeout_s=timeout_s, setting=setting, stop=stop).text


def generate(
    llm: LLM, prompt: str, *, timeout_s: float, setting: str = "", stop: threading.Event | None = None
) -> Generation:
    """The same, with how it went."""
    stream = ChatStream(
        llm,
        [Message("user", prompt)],
        stop=stop or threading.Event(),
        deadline_s=timeout_s,
        deadline_setting=setting,
    )
    text = "".join(stream)
    return stream.generation or Generation(text, "stopped")


def _later(end: Delta, delta: Delta) -> Delta:
    """What a stream has said of its end so far; the counts may come after the reason."""
    counted = end if delta.prompt_tokens is None and delta.answer_tokens is None else delta
    return Delta("", delta.reason or end.reason, counted.prompt_tokens, counted.answer_tokens)


class _WorthRetrying(Exception):
    """Its cause is a failure that may pass by itself."""
