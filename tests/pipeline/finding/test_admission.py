"""Admission control: who waits, for whom, how long, and what the trace says of it."""

from __future__ import annotations

import threading

import pytest

from pipeline.finding.admission import Admission
from pipeline.models.onnx import core_count
from pipeline.steps.events import Step, Trace
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import make_search

PATIENCE_S = 30.0
QUESTION = "Why does the LN2 tank show OFFLINE?"


def waits(trace: Trace) -> list[Step]:
    return [step for step in trace.steps if step.name == "wait"]


def test_there_are_as_many_places_as_cores() -> None:
    assert Admission().places == core_count()


def test_a_free_place_is_taken_without_a_step() -> None:
    admission, trace = Admission(2), Trace()
    with admission.place(trace), admission.place(trace):
        assert trace.steps == []


def test_who_comes_too_many_waits_until_a_place_is_given_back() -> None:
    admission, trace = Admission(1, longest_wait_s=PATIENCE_S), Trace()
    asked, got_in = threading.Event(), threading.Event()

    def come() -> None:
        asked.set()
        with admission.place(trace):
            got_in.set()

    second = threading.Thread(target=come)
    with admission.place(Trace()):
        second.start()
        assert asked.wait(PATIENCE_S)
        assert not got_in.wait(0.1)
    assert got_in.wait(PATIENCE_S)
    second.join(PATIENCE_S)
    (wait,) = waits(trace)
    assert (wait.status, wait.detail, wait.inputs) == ("ok", "", {"places": 1})
    assert wait.ms >= 100


def test_nobody_waits_longer_than_that_and_takes_nothing_away() -> None:
    admission, trace = Admission(1, longest_wait_s=0.01), Trace()
    with admission.place(Trace()):
        with admission.place(trace):
            pass
        (wait,) = waits(trace)
        assert "no place came free" in wait.detail
        with admission.place(trace):  # the one that never had a place gave none back
            pass
        assert len(waits(trace)) == 2


def test_a_search_that_fails_gives_its_place_back() -> None:
    admission, trace = Admission(1, longest_wait_s=0.01), Trace()
    with pytest.raises(RuntimeError), admission.place(trace):
        raise RuntimeError("the store is gone")
    with admission.place(trace):
        assert waits(trace) == []


def test_a_search_waits_before_its_first_own_step(manual: EmbeddedStore) -> None:
    admission, trace = Admission(1, longest_wait_s=0.01), Trace()
    search = make_search(manual, admission=admission)
    with admission.place(Trace()):
        assert search.search(QUESTION, trace=trace).passages
    assert [step.name for step in trace.steps][:3] == ["hyde", "wait", "embed"]
    assert search.search(QUESTION).passages
    with admission.place(alone := Trace()):
        assert waits(alone) == []  # that search gave its place back
