"""Reads one streamed answer in a thread of its own, so that who waits for it can leave at any time."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pipeline.models.deltas import Delta, ServedModel, model_deltas
from pipeline.models.transport import HangUpTransport

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from pipeline.messages import Message

REST_SHARE = 0.2
LONGEST_REST_S = 0.2
"""A server sends a message a token, and each wakes three threads. With twenty answers at once these wait
for each other, and searches for them. So the reader rests between two looks at the connection, a fifth of
the time so far: an answer comes in some five pieces a second, as often as the page looks, and is complete
at most a fifth of a second later."""

AT_ONCE_S = 0.005  # in less than this is read what had come meanwhile


class AnswerReader:
    """Reads in a daemon thread into a queue; a failure is raised where the deltas are taken."""

    def __init__(self, llm: LLM, messages: Sequence[Message]) -> None:
        self._items: queue.SimpleQueue[Delta | Exception | None] = queue.SimpleQueue()
        self._transport: HangUpTransport | None = None
        if isinstance(llm, ServedModel):
            server = llm.server
            self._transport = HangUpTransport(
                connect_timeout_s=server.connect_timeout_s, read_timeout_s=server.timeout_s
            )
        self._left = threading.Event()
        # The caller's context goes along, so that traces of the model's call hang under the caller's span.
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(self._read, llm, messages), name="athena-llm", daemon=True
        ).start()

    def take(self, *, timeout_s: float) -> list[Delta]:
        """What has arrived, a delta at least; none at the end. Raises `queue.Empty` where none came in time.

        Of a model that is not on a server it is one at a time: nobody knows what it does between two.
        """
        taken = self._next(timeout_s)
        deltas = [taken] if taken else []
        while deltas and self._transport and not self._items.empty():
            item = self._items.get()
            if not isinstance(item, Delta):
                self._items.put(item)  # the last one: for the next look
                break
            deltas.append(item)
        return deltas

    def hang_up(self) -> None:
        """Leave the reader behind and end its connection."""
        self._left.set()
        if self._transport:
            self._transport.hang_up()

    def _next(self, timeout_s: float) -> Delta | None:
        item = self._items.get(timeout=timeout_s)
        if isinstance(item, Exception):
            raise item
        return item

    def _read(self, llm: LLM, messages: Sequence[Message]) -> None:
        try:
            if isinstance(llm, ServedModel) and self._transport:
                self._pass_on(rested(llm.deltas(messages, self._transport), self._left.wait))
            else:
                self._pass_on(model_deltas(llm, messages))
            self._items.put(None)
        except Exception as error:  # noqa: BLE001 - the caller's thread raises it
            self._items.put(error)
        finally:
            if self._transport:
                self._transport.close()

    def _pass_on(self, deltas: Iterator[Delta]) -> None:
        for delta in deltas:
            self._items.put(delta)
            if self._left.is_set():
                return


def rested(
    deltas: Iterable[Delta], rest: Callable[[float], object], *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Delta]:
    """The deltas, with a rest of so many seconds after each that had to be waited for."""
    started = looked = clock()
    for delta in deltas:
        yield delta
        now = clock()
        if now - looked > AT_ONCE_S:
            rest(min(LONGEST_REST_S, REST_SHARE * (now - started)))
            looked = clock()
