"""Reads one streamed answer in a thread of its own, so that its consumer can leave at any time."""

from __future__ import annotations

import codecs
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.messages import Message, MessageWithImage
from pipeline.models.wire import Connections

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.llms import LLM

REST_SHARE = 0.2
LONGEST_REST_S = 0.2
"""A server sends a message a token, and each wakes three threads: at 100 tokens/s that costs .5 ms of
processor a token, and .1 ms with rests (docs/decisions/language-models.md). So after each wait for the
server the reader rests for a fifth of the time so far: an answer comes in some five pieces a second, as
often as the page looks, and is complete at most a fifth of a second later."""

AT_ONCE_S = 0.005  # a message that comes sooner was there already


@dataclass(frozen=True, slots=True)
class Delta:
    """What one message of a stream says: a piece of text, and at the end why it ended and the counts."""

    text: str = ""
    reason: str = ""  # "" while it goes on
    prompt_tokens: int | None = None
    answer_tokens: int | None = None


class AnswerReader:
    """Reads in a daemon thread into a queue; a failure is raised where the deltas are taken."""

    def __init__(self, llm: LLM, messages: Sequence[Message], *, served: bool) -> None:
        self._items: queue.SimpleQueue[Delta | Exception | None] = queue.SimpleQueue()
        self._served = served
        self._left = threading.Event()
        self._connections = Connections()
        # The caller's context goes along, so that traces of the model's call hang under the caller's span.
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(self._read, llm, messages), name="athena-llm", daemon=True
        ).start()

    def take(self, *, timeout_s: float) -> list[Delta]:
        """What has arrived, at least one delta; none at the end. Raises `queue.Empty` after the timeout.

        One at a time from a model that is not on a server: it may be doing anything between two.
        """
        taken = self._next(timeout_s)
        deltas = [taken] if taken else []
        while deltas and self._served and not self._items.empty():
            item = self._items.get()
            if not isinstance(item, Delta):
                self._items.put(item)  # the last one: for the next look
                break
            deltas.append(item)
        return deltas

    def hang_up(self) -> None:
        """Leave the reader behind and end its connection."""
        self._left.set()
        self._connections.hang_up()

    def _next(self, timeout_s: float) -> Delta | None:
        item = self._items.get(timeout=timeout_s)
        if isinstance(item, Exception):
            raise item
        return item

    def _read(self, llm: LLM, messages: Sequence[Message]) -> None:
        self._connections.watch()
        try:
            deltas = read_deltas(llm, messages)
            for delta in rested(deltas, self._left.wait) if self._served else deltas:
                self._items.put(delta)
                if self._left.is_set():
                    return
            self._items.put(None)
        except Exception as error:  # noqa: BLE001 - the caller's thread raises it
            self._items.put(error)
        finally:
            self._connections.close()


def read_deltas(llm: LLM, messages: Sequence[Message]) -> Iterator[Delta]:
    """Stream the answer of any LlamaIndex model."""
    return map(delta_of, llm.stream_chat([_chat_message(message) for message in messages]))


def _chat_message(message: Message) -> ChatMessage:
    from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock

    if not isinstance(message, MessageWithImage):
        return ChatMessage(role=message.role, content=message.text)
    shown = ImageBlock(image=message.image, image_mimetype=message.media_type)
    return ChatMessage(role=message.role, blocks=[shown, TextBlock(text=message.text)])


def delta_of(response: ChatResponse) -> Delta:
    """What one response says: `raw` is Ollama's line, OpenAI's chunk, or nothing that we know."""
    text, raw = response.delta or "", response.raw
    if isinstance(raw, Mapping) and raw.get("done"):
        reason = str(raw.get("done_reason") or "stop")
        return Delta(text, reason, raw.get("prompt_eval_count"), raw.get("eval_count"))
    if hasattr(raw, "choices"):
        return _delta_of_chunk(raw, text)
    return Delta(text)


def _delta_of_chunk(chunk: Any, text: str) -> Delta:
    reason = (chunk.choices[0].finish_reason if chunk.choices else "") or ""
    usage = getattr(chunk, "usage", None)
    if not usage:
        return Delta(text, reason)
    return Delta(text, reason, usage.prompt_tokens, usage.completion_tokens)


def rested(
    deltas: Iterable[Delta], rest: Callable[[float], object], *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Delta]:
    """The deltas, with a rest of so many seconds after each one that had to be waited for."""
    started = asked = clock()
    for delta in deltas:
        arrived = clock()
        yield delta
        if arrived - asked > AT_ONCE_S:
            rest(min(LONGEST_REST_S, REST_SHARE * (arrived - started)))
        asked = clock()


class CharacterJoiner:
    """Joins the halves of surrogate pairs across pieces; a half that stays alone becomes U+FFFD.

    A string with half a pair in it can be neither stored, nor embedded, nor sent to a page.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-16-le")(errors="replace")

    def join(self, piece: str) -> str:
        """The piece, less a first half at its end, which comes with the next one."""
        return self._decoder.decode(piece.encode("utf-16-le", "surrogatepass"))
