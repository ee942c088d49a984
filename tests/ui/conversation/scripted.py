"""A chat engine that yields what it is told to, and waits where it is told to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.steps.events import ChatEvent

SECONDS = 5


@dataclass
class ScriptedEngine:
    """Yields its events, waiting at each `Event` until it is set or the run is stopped."""

    script: list[ChatEvent | threading.Event | Exception]
    asked: list[str] = field(default_factory=list)

    def run(self, message: str, *, stop: threading.Event | None = None) -> Iterator[ChatEvent]:
        self.asked.append(message)
        for item in self.script:
            if isinstance(item, threading.Event):
                while not item.wait(0.01):
                    if stop and stop.is_set():
                        return
            elif isinstance(item, Exception):
                raise item
            else:
                yield item
