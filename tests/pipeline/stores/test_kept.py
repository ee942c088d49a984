"""What was read of a state is kept until another is asked for, as far as there is room."""

from __future__ import annotations

from collections.abc import Collection

from pipeline.stores.kept import KeptByState


class Reading:
    """Reads a word for each number up to nine, and records what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []

    def __call__(self, numbers: Collection[int]) -> dict[int, str]:
        self.asked.append(tuple(numbers))
        return {number: "n" * number for number in sorted(numbers) if number < 10}


def test_only_what_is_not_known_is_read_and_all_comes_in_the_order_asked() -> None:
    kept, read = KeptByState[int, str](room=10), Reading()
    assert list(kept.of("first", [3, 1], read)) == [3, 1]
    assert list(kept.of("first", [2, 1, 99, 3], read)) == [2, 1, 3]
    assert read.asked == [(3, 1), (2, 99)]


def test_another_state_or_forgetting_makes_it_read_again() -> None:
    kept, read = KeptByState[int, str](room=10), Reading()
    kept.of("first", [1], read)
    kept.of("second", [1], read)
    kept.forget()
    assert kept.of("second", [1], read) == {1: "n"}
    assert read.asked == [(1,), (1,), (1,)]


def test_where_there_is_no_more_room_what_was_read_first_goes() -> None:
    kept, read = KeptByState[int, str](room=5, size_of=len), Reading()
    assert kept.of("first", [1, 2, 3], read) == {1: "n", 2: "nn", 3: "nnn"}
    kept.of("first", [2, 3], read)
    kept.of("first", [1], read)
    assert read.asked == [(1, 2, 3), (1,)]


def test_one_value_is_read_once() -> None:
    kept = KeptByState[None, str](room=1)
    assert [kept.one("first", None, lambda: "one"), kept.one("first", None, lambda: "two")] == ["one", "one"]
