"""How often the state is looked at: for what is read always, for what is remembered seldom, but in time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pipeline.stores.server import snapshot as module
from pipeline.stores.server.snapshot import Snapshot, Snapshots


class FakeMongo:
    """Holds one state, and counts how often it is looked at."""

    def __init__(self) -> None:
        self.state = {
            "store": "s",
            "build": None,
            "manifest": None,
            "generation": 1,
            "written": 0,
            "deleted": 0,
        }
        self.looks = 0
        self.state_written_at = 0.0

    @contextmanager
    def collection(self, name: str) -> Iterator[FakeMongo]:
        assert name == "state"
        yield self

    def find_one(self, where: Any) -> dict[str, Any]:
        self.looks += 1
        return dict(self.state)


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        self.now += 1e-6
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def mongo() -> FakeMongo:
    return FakeMongo()


@pytest.fixture
def quiet(mongo: FakeMongo, clock: Clock) -> Snapshots:
    """Has read a while ago, and again just now."""
    snapshots = Snapshots(lambda: mongo)  # type: ignore[arg-type, return-value]
    snapshots.read(_generation)
    clock.now += module.IN_FLUX_S + 1
    snapshots.read(_generation)
    mongo.looks = 0
    return snapshots


def _generation(snapshot: Snapshot) -> int:
    return snapshot.state.generation


def test_each_read_looks_once(quiet: Snapshots, mongo: FakeMongo) -> None:
    assert (quiet.read(_generation), quiet.read(_generation)) == (1, 1)
    assert mongo.looks == 2


def test_what_is_remembered_after_a_look_needs_none(quiet: Snapshots, mongo: FakeMongo, clock: Clock) -> None:
    assert quiet.remember(_generation) == 1
    clock.now += module.LOOK_HOLDS_S / 2
    assert quiet.remember(_generation) == 1
    assert mongo.looks == 0


def test_a_look_holds_no_longer_than_it_says(quiet: Snapshots, clock: Clock) -> None:
    clock.now += module.LOOK_HOLDS_S
    assert quiet.remember(_generation) is None
    quiet.read(_generation)
    assert quiet.remember(_generation) == 1


def test_what_this_process_wrote_is_not_missed(quiet: Snapshots, mongo: FakeMongo, clock: Clock) -> None:
    mongo.state["generation"] = 2
    mongo.state_written_at = clock.monotonic()
    assert quiet.remember(_generation) is None
    assert quiet.read(_generation) == 2


def test_in_times_of_change_nothing_is_remembered(quiet: Snapshots, mongo: FakeMongo, clock: Clock) -> None:
    mongo.state["generation"] = 2
    assert quiet.read(_generation) == 2
    quiet.read(_generation)
    assert quiet.remember(_generation) is None
    clock.now += module.IN_FLUX_S + 1
    quiet.read(_generation)
    assert quiet.remember(_generation) == 2


def test_before_anything_was_read_nothing_is_remembered(mongo: FakeMongo, clock: Clock) -> None:
    assert Snapshots(lambda: mongo).remember(_generation) is None  # type: ignore[arg-type, return-value]
