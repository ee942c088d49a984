"""A property that is made at its first use, and once: `functools.cached_property` would race."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Made = TypeVar("Made")


class made_once(Generic[Made]):  # noqa: N801  (a decorator, as `property` is)
    """Makes the value under the object's `lock`, which must be reentrant, and keeps it in its `__dict__`."""

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make, self._name = make, make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Made:
        if instance is None:
            return self  # type: ignore[return-value]
        made = instance.__dict__  # looked up before this descriptor: only the first use comes here
        with instance.lock:
            if self._name not in made:
                made[self._name] = self._make(instance)
            return made[self._name]  # type: ignore[no-any-return]  # outside, it may be dropped again
