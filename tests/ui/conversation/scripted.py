"""A chat that yields scripted events, and waits at each `Event` of its script."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.steps.events import ChatEvent

SECONDS = 5


@dataclass
class Scripted:
    """Yields its events, waiting at each `Event` until it is set or the run is stopped."""

    script: list[ChatEvent | threading.Event | Exception]

    def __call__(self, stop: threading.Event) -> Iterator[ChatEvent]:
        for item in self.script:
            if isinstance(item, threading.Event):
                while not item.wait(0.01):
                    if stop.is_set():
                        return
            elif isinstance(item, Exception):
                raise item
            else:
                yield item
