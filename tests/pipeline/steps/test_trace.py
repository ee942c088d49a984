"""Steps: timed, in order, with events around them, and plain data that reads back as it was stored."""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar

import pytest

from pipeline.errors import StoreError
from pipeline.steps.events import ChatEvent, Emit, StepFinished, StepStarted, TokenArrived, Trace, streamed
from pipeline.steps.records import Step, call_line


def test_a_step_is_timed_and_has_what_it_began_with_and_what_the_block_found() -> None:
    events: list[ChatEvent] = []
    trace = Trace(events.append)
    with trace.step("search", sentences=4210, alpha=0.5) as step:
        time.sleep(0.02)
        step.data["hits"] = 3
    (done,) = trace.steps
    assert (done.name, done.status, done.detail) == ("search", "ok", "")
    assert done.data == {"sentences": 4210, "alpha": 0.5, "hits": 3}
    assert 20 <= done.ms < 2000
    assert events == [StepStarted("search", "Searching 4,210 sentences"), StepFinished(done)]


def test_a_step_that_is_skipped_or_fails_says_why() -> None:
    trace = Trace()
    with trace.step("embed") as embed:
        assert not embed.is_on(False)
    with trace.step("rerank") as rerank:
        assert rerank.is_on(True)
        rerank.fail("no answer in 3 s")
    ended = [(step.status, step.detail) for step in trace.steps]
    assert ended == [("skipped", "switched off"), ("failed", "no answer in 3 s")]


@pytest.mark.parametrize(
    ("error", "detail"),
    [(StoreError("Gone.", "Wait."), "Gone. Wait."), (KeyboardInterrupt(), "KeyboardInterrupt")],
)
def test_a_block_that_raises_is_a_failed_step_with_its_events(error: BaseException, detail: str) -> None:
    events: list[ChatEvent] = []
    trace = Trace(events.append)
    with pytest.raises(type(error)), trace.step("fuse", weights={"a": 1.0}):
        raise error
    assert [(step.status, step.detail, step.data) for step in trace.steps] == [
        ("failed", detail, {"weights": {"a": 1.0}})
    ]
    assert events[-1] == StepFinished(trace.steps[0])


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (Step("tool", data={"found": "8 sections"}), "search “rpm · 5”: 8 sections"),
        (Step("tool", status="failed", detail="Too late."), "search “rpm · 5”: Too late."),
    ],
)
def test_a_call_is_one_line(step: Step, line: str) -> None:
    called = {"tool": "search", "arguments": {"query": " rpm\n", "limit": 5}}
    assert call_line(Step(step.name, status=step.status, detail=step.detail, data=step.data | called)) == line


def test_work_in_a_thread_is_streamed_with_its_context_its_outcome_and_its_exception() -> None:
    known: ContextVar[str] = ContextVar("known", default="")
    known.set("caller")

    def work(emit: Emit) -> str:
        emit(TokenArrived("one"))
        assert threading.current_thread() is not threading.main_thread()
        if known.get() != "caller":
            raise StoreError("Gone.", "Wait.")
        return "done"

    events = streamed(work)
    assert next(events) == TokenArrived("one")
    with pytest.raises(StopIteration) as end:
        next(events)
    assert end.value.value == "done"
    known.set("another")
    with pytest.raises(StoreError):
        list(streamed(work))


def test_leaving_early_stops_the_thread_and_waits_for_it() -> None:
    stop, ended = threading.Event(), threading.Event()

    def work(emit: Emit) -> None:
        emit(TokenArrived("one"))
        stop.wait(10)
        ended.set()

    events = streamed(work, stop=stop)
    assert next(events) == TokenArrived("one")
    events.close()
    assert ended.is_set()
