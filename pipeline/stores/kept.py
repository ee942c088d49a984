"""What was read of one state of an index, kept until another state is asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class KeptByState(Generic[Key, Value]):
    """Values by key, the last ones that were read, as far as `room` goes; safe to use from several threads.

    `size_of` says what a value takes of the room; without it, each takes one.
    """

    def __init__(self, room: int, size_of: Callable[[Value], int] = lambda _: 1) -> None:
        self._room = room
        self._size_of = size_of
        self._lock = threading.Lock()
        self._state: Hashable = None
        self._values: dict[Key, Value] = {}
        self._size = 0

    def of(
        self,
        state: Hashable,
        keys: Collection[Key],
        read: Callable[[Collection[Key]], Mapping[Key, Value]],
    ) -> dict[Key, Value]:
        """The values of some different keys in `state`, in their order; `read` is asked for those not known.

        A key that it does not return has none.
        """
        with self._lock:
            if self._state != state:
                self._clear(state)
            values = self._values
            found = {key: values[key] for key in keys if key in values}
            if len(found) == len(keys):
                return found
            new = read([key for key in keys if key not in found])
            self._keep(new)
            found.update(new)
        return {key: found[key] for key in keys if key in found}

    def one(self, state: Hashable, key: Key, read: Callable[[], Value]) -> Value:
        """The value of a key in `state`, read unless it is known."""
        return self.of(state, (key,), lambda _: {key: read()})[key]

    def forget(self) -> None:
        """Free the memory."""
        with self._lock:
            self._clear(None)

    def _clear(self, state: Hashable) -> None:
        self._state, self._values, self._size = state, {}, 0

    def _keep(self, new: Mapping[Key, Value]) -> None:
        self._values.update(new)
        self._size += sum(map(self._size_of, new.values()))
        while self._size > self._room:
            self._size -= self._size_of(self._values.pop(next(iter(self._values))))
