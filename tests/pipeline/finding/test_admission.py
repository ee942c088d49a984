"""Admission control: who waits, for whom, how long, and what the steps say of it."""

from __future__ import annotations

import threading

import pytest

from pipeline.finding.admission import Admission
from pipeline.models.onnx import core_count
from pipeline.steps.records import WaitStep
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import make_search, the_step

PATIENCE_S = 30.0
QUESTION = "Why does the LN2 tank show OFFLINE?"


def test_there_are_as_many_places_as_cores() -> None:
    assert Admission().places == core_count()


def test_a_free_place_is_held_at_once() -> None:
    admission = Admission(2)
    with admission.place() as first, admission.place() as second:
        assert first.held
        assert second.held


def test_who_comes_too_many_waits_until_a_place_is_given_back() -> None:
    admission = Admission(1, longest_wait_s=PATIENCE_S)
    asked, got_in = threading.Event(), threading.Event()

    def come() -> None:
        with admission.place() as place:
            assert not place.held
            asked.set()
            place.wait()
            if place.held:
                got_in.set()

    second = threading.Thread(target=come)
    with admission.place():
        second.start()
        assert asked.wait(PATIENCE_S)
        assert not got_in.wait(0.1)
    assert got_in.wait(PATIENCE_S)
    second.join(PATIENCE_S)


def test_nobody_waits_longer_than_that_and_takes_nothing_away() -> None:
    admission = Admission(1, longest_wait_s=0.01)
    with admission.place():
        with admission.place() as place:
            place.wait()
            assert not place.held
        with admission.place() as place:  # the one that never had a place gave none back
            assert not place.held


def test_a_search_that_fails_gives_its_place_back() -> None:
    admission = Admission(1)
    with pytest.raises(RuntimeError), admission.place():
        raise RuntimeError("the store is gone")
    with admission.place() as place:
        assert place.held


def test_a_search_waits_before_its_first_own_step(manual: EmbeddedStore) -> None:
    admission = Admission(1, longest_wait_s=0.01)
    search = make_search(manual, admission=admission)
    with admission.place():
        retrieval = search.search(QUESTION)
    assert retrieval.passages
    assert [step.name for step in retrieval.steps][:3] == ["correct", "hyde", "wait"]
    wait = the_step(retrieval, WaitStep)
    assert (wait.status, wait.places) == ("ok", 1)
    assert "no place came free" in wait.detail
    assert WaitStep not in map(type, search.search(QUESTION).steps)
    with admission.place() as place:
        assert place.held  # that search gave its place back
