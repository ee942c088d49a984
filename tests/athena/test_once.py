"""What is made once is made once, also by threads that ask at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from athena.once import made_once


class Ship:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.made: list[str] = []
        self.both_ask = threading.Barrier(2)

    @made_once
    def engine(self) -> object:
        """Makes it go."""
        self.made.append("engine")
        return object()

    @made_once
    def bridge(self) -> tuple[object]:
        return (self.engine,)

    @made_once
    def nothing(self) -> None:
        self.made.append("nothing")


class DropsWhenFree:
    """A lock for which somebody waits who drops what was made under it."""

    def __init__(self, ship: Ship) -> None:
        self._ship = ship

    def __enter__(self) -> None:
        """Take it."""

    def __exit__(self, *error: object) -> None:
        self._ship.__dict__.pop("engine", None)


def test_threads_get_the_same() -> None:
    ship = Ship()

    def ask() -> object:
        ship.both_ask.wait(10)
        return ship.engine

    with ThreadPoolExecutor(2) as pool:
        one, other = [pool.submit(ask) for _ in range(2)]
        assert one.result() is other.result()
    assert ship.made == ["engine"]
    assert vars(ship)["engine"] is ship.engine  # from now on no lock is taken


def test_what_is_dropped_at_once_was_still_made() -> None:
    ship = Ship()
    ship.lock = DropsWhenFree(ship)  # type: ignore[assignment]
    assert ship.engine is not None
    assert "engine" not in vars(ship)


def test_one_may_need_another_and_none_is_a_value() -> None:
    ship = Ship()
    assert ship.bridge == (ship.engine,)
    assert (ship.nothing, ship.nothing) == (None, None)
    assert ship.made == ["engine", "nothing"]
    assert Ship.engine.__doc__ == "Makes it go."
