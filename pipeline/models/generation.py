"""Text generation with a language model: streamed, stoppable, with thoughts apart from the answer."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from queue import SimpleQueue

from pipeline.answer import Message, Usage
from pipeline.errors import ModelTimeout
from pipeline.models.clients import LanguageModel, Piece, Schema
from pipeline.models.failures import quoted, translate
from pipeline.models.tokens import count_tokens
from pipeline.redaction import held_back, redacted
from pipeline.steps.spending import account
from pipeline.words import well_formed

POLL_S = 0.1  # longest time until a stop is noticed
OPEN, CLOSE = "<think>", "</think>"
_OPEN = re.compile(f"{OPEN}(?<!`{OPEN})")  # after a backtick it is text, as in documentation about models
_BEGUN = re.compile(r"</?t?h?i?n?k?\Z")  # at the end of a piece, this may be the beginning of a tag

ALL_THOUGHT = "The model thought, and wrote no answer. Raise ATHENA_MAX_ANSWER_TOKENS, or change the model."
CUT = "The answer reached its token limit and was cut off. Raise ATHENA_MAX_ANSWER_TOKENS."


class ChatStream(Iterator[Piece]):
    """An iterator over an answer as it arrives; `text` and `thinking` grow, and `end` has its end and tokens.

    Setting `stop`, or calling `close`, ends it without an exception, for a model on a server within 0.1 s.
    `deadline_s` limits the time for the answer. `json_schema` is a request that servers may ignore. Raises
    `ModelUnavailable`, `ModelTimeout` or another `ModelError`; `text` keeps the text received before.
    """

    def __init__(
        self,
        llm: LanguageModel,
        messages: Sequence[Message],
        *,
        stop: threading.Event,
        deadline_s: float | None = None,
        json_schema: Schema | None = None,
    ) -> None:
        self.text = self.thinking = ""
        self.end = Piece()
        self._llm, self._messages, self._schema = llm, list(messages), json_schema
        self._stop, self._deadline_s, self._account = stop, deadline_s, account.get()
        self._arrived: SimpleQueue[Piece | BaseException | None] = SimpleQueue()
        self._closed = threading.Event()
        self._reply = ""  # the raw reply so far
        self._thought = 0  # how many characters of the thoughts in it were yielded
        self._pieces = self._run()

    def __next__(self) -> Piece:
        return next(self._pieces)

    def close(self) -> None:
        """Stop reading and cancel the request; only for the thread that reads. Twice is harmless."""
        self._pieces.close()

    # -- in a thread of its own ----------------------------------------------------------------------

    def _work(self) -> None:
        """Put the model's pieces into the queue, then its exception, if any, then None."""
        try:
            asyncio.run(self._read())
        except Exception as error:  # noqa: BLE001  (the reading thread raises it)
            self._arrived.put(error)
        finally:
            self._arrived.put(None)

    async def _read(self) -> None:
        """Read until the end, a stop or the deadline; then `asyncio.run` cancels an unfinished request."""
        try:
            async with asyncio.timeout(self._deadline_s):
                reading = asyncio.create_task(self._receive())
                while not (reading.done() or self._stop.is_set() or self._closed.is_set()):
                    await asyncio.wait({reading}, timeout=POLL_S)
        except TimeoutError as error:
            late = f"{self._llm.server.place} did not finish within {self._deadline_s:g} s."
            fix = "Choose a smaller model, or allow it more time in the settings."
            raise ModelTimeout(late, fix) from error
        if reading.done():
            reading.result()

    async def _receive(self) -> None:
        async for piece in self._llm.stream(self._messages, self._schema):
            self._arrived.put(piece)

    # -- in the reader's thread ----------------------------------------------------------------------

    def _run(self) -> Generator[Piece, None, None]:
        try:
            if not self._stop.is_set():
                threading.Thread(target=self._work, name="athena-llm", daemon=True).start()
            while not self._stop.is_set() and (found := self._arrived.get()) is not None:
                if isinstance(found, BaseException):
                    raise found
                yield from self._added(found)
            yield from self._added(Piece(), is_last=True)
            if self._stop.is_set():
                self.end = replace(self.end, finish_reason=self.end.finish_reason or "stopped")
        except Exception as error:
            begun = bool(self.text or self.thinking)
            raise translate(error, server=self._llm.server, begun=begun) from error
        finally:
            self._closed.set()
            self._note_tokens()

    def _added(self, arrived: Piece, *, is_last: bool = False) -> Iterator[Piece]:
        """Yield the new text and thoughts, but hold back an end that may begin a tag or a secret."""
        before = self.end
        self.end = Piece(  # counts and reason may come in different pieces
            finish_reason=quoted(arrived.finish_reason) or before.finish_reason,
            prompt_tokens=arrived.prompt_tokens or before.prompt_tokens,
            answer_tokens=arrived.answer_tokens or before.answer_tokens,
        )
        self._reply += arrived.text
        text, thoughts = split_thoughts(self._reply if is_last else _BEGUN.sub("", self._reply))
        text = well_formed(redacted(text).lstrip())
        text = text if is_last else text[: len(text) - held_back(text)]
        thinking = arrived.thinking + thoughts[self._thought :]
        piece = Piece(text[len(self.text) :], well_formed(redacted(thinking)))
        self.text, self.thinking = self.text + piece.text, self.thinking + piece.thinking
        self._thought = len(thoughts)
        if piece != Piece():
            yield piece

    @property
    def notice(self) -> str:
        """A warning if the reply has no answer or was cut off at the token limit, else ""."""
        if self.thinking and not self.text and self.end.finish_reason != "stopped":
            return ALL_THOUGHT
        return CUT if self.end.finish_reason == "length" else ""

    def _note_tokens(self) -> None:
        """Add the tokens to the turn's usage, unless nothing arrived from the model."""
        if self._account is not None and (self.text or self.thinking or self.end != Piece()):
            read, wrote = self.end.prompt_tokens, self.end.answer_tokens
            asked = read or sum(count_tokens(message.text) for message in self._messages)
            written = count_tokens(self.thinking + self.text) if wrote is None else wrote
            estimated = not read or wrote is None
            self._account.append(Usage(asked, written, estimated, model=self._llm.server.name))


def complete(
    llm: LanguageModel,
    messages: str | Sequence[Message],
    *,
    timeout_s: float,
    stop: threading.Event | None = None,
    json_schema: Schema | None = None,
) -> str:
    """Return the reply to one prompt or to messages, without thoughts; after a stop, the part received.

    Raises the errors of `ChatStream`, for example `ModelTimeout` if the reply takes longer than `timeout_s`.
    """
    asked = [Message("user", messages)] if isinstance(messages, str) else messages
    stop = stop or threading.Event()
    stream = ChatStream(llm, asked, stop=stop, deadline_s=timeout_s, json_schema=json_schema)
    return without_thoughts("".join(piece.text for piece in stream))


def without_thoughts(reply: str) -> str:
    """Return a complete or partial reply without the thoughts in it."""
    return split_thoughts(reply)[0].rpartition(CLOSE)[2].strip()  # some templates put the tag into the prompt


def split_thoughts(reply: str) -> tuple[str, str]:
    """Split a complete or partial reply into (answer, thoughts).

    >>> split_thoughts("<think>hm</think>Models write `<think>` first. <think>or")
    ('Models write `<think>` first. ', 'hmor')
    """
    answer, *others = _OPEN.split(reply)
    parts = [other.partition(CLOSE) for other in others]
    return answer + "".join(part[2] for part in parts), "".join(part[0] for part in parts)
