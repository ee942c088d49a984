"""Generate text with a language model: streamed, stoppable, thoughts apart, with clear errors."""

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

POLL_S = 0.1  # how soon a stop is noticed
OPEN, CLOSE = "<think>", "</think>"
_TAG = re.compile(f"({OPEN}|{CLOSE})")
_BEGUN = re.compile(r"</?t?h?i?n?k?\Z")  # what may be the beginning of a tag at the end of a piece

ALL_THOUGHT = "The model thought, and wrote no answer. Raise ATHENA_MAX_ANSWER_TOKENS, or choose another one."
CUT = "The answer was cut off at its longest length. Raise ATHENA_MAX_ANSWER_TOKENS."


class ChatStream(Iterator[Piece]):
    """An answer as it arrives; `text` and `thinking` grow, and `end` says how it ended.

    Setting `stop` ends it without an exception, at once where the model is on a server; so does `close`.
    `deadline_s` limits the whole answer. Servers that can keep to `json_schema` do. Raises
    `ModelUnavailable`, `ModelTimeout` or another `ModelError`; `text` keeps what had arrived.
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
        self._closed, self._waiting = threading.Event(), ""
        self._pieces = self._run()

    def __next__(self) -> Piece:
        return next(self._pieces)

    def close(self) -> None:
        """Hang up; safe at any time."""
        self._pieces.close()

    # -- in a thread of its own ----------------------------------------------------------------------

    def _work(self) -> None:
        """Put the model's pieces into the queue, then its error, if any, and None."""
        try:
            asyncio.run(self._read())
        finally:
            self._arrived.put(None)

    async def _read(self) -> None:
        """Read until the end; at a stop the request is cancelled, which closes its connection."""
        reading = asyncio.create_task(self._receive())
        while not reading.done():
            await asyncio.wait({reading}, timeout=POLL_S)
            if self._stop.is_set() or self._closed.is_set():
                reading.cancel()
                await asyncio.wait({reading})
        if not reading.cancelled() and (error := reading.exception()):
            self._arrived.put(error)

    async def _receive(self) -> None:
        late = f"{self._llm.server.place} did not finish within {self._deadline_s or 0:g} s."
        try:
            async with asyncio.timeout(self._deadline_s):
                async for piece in self._llm.stream(self._messages, self._schema):
                    self._arrived.put(piece)
        except TimeoutError as error:
            fix = "Choose a smaller model, or allow it more time in the settings."
            raise ModelTimeout(late, fix) from error

    # -- in the reader's thread ----------------------------------------------------------------------

    def _run(self) -> Generator[Piece, None, None]:
        splitter = ThinkingSplitter()
        try:
            if not self._stop.is_set():
                threading.Thread(target=self._work, name="athena-llm", daemon=True).start()
            while not self._stop.is_set() and (found := self._arrived.get()) is not None:
                if isinstance(found, BaseException):
                    raise found
                self._note_end(found)
                text, thoughts = splitter.split(found.text)
                yield from self._added(text, found.thinking + thoughts)
            yield from self._added(*splitter.rest(), is_last=True)
            if self._stop.is_set() and not self.end.finish_reason:
                self.end = replace(self.end, finish_reason="stopped")
        except Exception as error:
            begun = bool(self.text or self.thinking)
            raise translate(error, server=self._llm.server, begun=begun) from error
        finally:
            self._closed.set()
            self._note_tokens()

    def _added(self, text: str, thinking: str, *, is_last: bool = False) -> Iterator[Piece]:
        """Yield a piece, except for an end of it that may be the beginning of a secret."""
        text = redacted(self._waiting + text)
        end = len(text) - (0 if is_last else held_back(text))
        text, self._waiting = text[:end], text[end:]
        piece = Piece(well_formed(text if self.text else text.lstrip()), well_formed(redacted(thinking)))
        self.text += piece.text
        self.thinking += piece.thinking
        if piece != Piece():
            yield piece

    def _note_end(self, piece: Piece) -> None:
        """Note how the answer ended; counts and reason may come apart."""
        reason = quoted(piece.finish_reason) or self.end.finish_reason
        if piece.prompt_tokens is None and piece.answer_tokens is None:
            self.end = replace(self.end, finish_reason=reason)
        else:
            self.end = replace(piece, text="", thinking="", finish_reason=reason)

    @property
    def notice(self) -> str:
        """A warning about how the reply ended, such as a token limit; "" if it is complete."""
        if self.thinking and not self.text and self.end.finish_reason != "stopped":
            return ALL_THOUGHT
        return CUT if self.end.finish_reason == "length" else ""

    def _note_tokens(self) -> None:
        """Note the tokens for the turn's usage, unless the model failed before the first piece."""
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
    """Return the whole reply to one prompt or to messages, without thoughts; after a stop, what had arrived.

    Raises as `ChatStream`; `ModelTimeout` where it takes longer than `timeout_s`.
    """
    asked = [Message("user", messages)] if isinstance(messages, str) else messages
    stop = stop or threading.Event()
    stream = ChatStream(llm, asked, stop=stop, deadline_s=timeout_s, json_schema=json_schema)
    return without_thoughts("".join(piece.text for piece in stream))


def without_thoughts(reply: str) -> str:
    """Return a reply, or the beginning of one, without the thoughts in it."""
    splitter = ThinkingSplitter()
    text = splitter.split(reply)[0] + splitter.rest()[0]
    return text.rpartition(CLOSE)[2].strip()  # some templates open the thoughts in the prompt


class ThinkingSplitter:
    """Splits pieces of a stream into answer and thoughts; tags may be cut anywhere between two pieces.

    A tag behind a backtick is text: documentation about models names it so.

    >>> splitter = ThinkingSplitter()
    >>> [splitter.split(piece) for piece in ("<th", "ink>hm</thi", "nk>B", "7 <")], splitter.rest()
    ([('', ''), ('', 'hm'), ('B', ''), ('7 ', '')], ('<', ''))
    """

    def __init__(self) -> None:
        self._waiting = ""
        self._last = ""  # the last character of the answer
        self._inside = False

    def split(self, piece: str) -> tuple[str, str]:
        """Return what a piece adds to the answer and to the thoughts."""
        whole = self._waiting + piece
        begun = _BEGUN.search(whole, max(0, len(whole) - len(CLOSE) + 1))
        self._waiting = begun[0] if begun else ""
        text, thoughts = "", ""
        for part in _TAG.split(whole.removesuffix(self._waiting)):
            if (part == OPEN and self._last != "`") or (part == CLOSE and self._inside):
                self._inside = part == OPEN
            elif self._inside:
                thoughts += part
            else:
                text += part
                self._last = part[-1:] or self._last
        return text, thoughts

    def rest(self) -> tuple[str, str]:
        """Return what waited for a tag that did not come: to be called at the end of the stream."""
        return ("", self._waiting) if self._inside else (self._waiting, "")
