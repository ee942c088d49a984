"""A value that is made at its first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Lazy(Generic[Value]):
    """Call it for the value: `make` runs at the first call, and once, also with several threads."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = threading.RLock()
        self._made: list[Value] = []

    def __call__(self) -> Value:
        """Return the value."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    @property
    def made(self) -> Value | None:
        """The value if it was made, else None."""
        return self._made[0] if self._made else None
