"""Steps as they are taken: timed, in order, with events around them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import replace

import pytest

from pipeline.errors import StoreError
from pipeline.steps.events import (
    ChatEvent,
    Emit,
    Events,
    StepFinished,
    StepStarted,
    TokenArrived,
    outcome,
    streamed,
)
from pipeline.steps.records import FuseStep, GenerateStep, HydeStep, RerankStep, SearchStep
from pipeline.steps.trace import RunningStep, Trace
from pipeline.stores.base import Hit


def search(step: RunningStep[SearchStep], found: int) -> int:
    time.sleep(0.02)
    step.record = replace(step.record, hits=found)
    return found


def told(events: Iterable[ChatEvent]) -> list[str]:
    return [f"{type(event).__name__} {getattr(event, 'name', '')}".strip() for event in events]


def test_a_step_is_timed_and_keeps_what_went_in_and_out() -> None:
    trace = Trace()
    assert outcome(trace.take(SearchStep(text="fan", alpha=0.5), search, 3)) == 3
    (done,) = trace.steps
    assert isinstance(done, SearchStep)
    assert (done.name, done.status, done.detail) == ("search", "ok", "")
    assert (done.text, done.alpha, done.hits) == ("fan", 0.5, 3)
    assert 20 <= done.ms < 2000


def test_the_event_of_its_start_comes_before_the_work_and_that_of_its_end_after() -> None:
    trace, work = Trace(), list[str]()
    events = trace.take(SearchStep(sentences=4210), lambda step: work.append("work"))
    assert next(events) == StepStarted("search", "Searching 4,210 sentences")
    assert work == []
    assert next(events) == StepFinished(trace.steps[0])
    assert work == ["work"]


def test_a_step_may_have_events_of_its_own() -> None:
    def write(step: RunningStep[GenerateStep], text: str) -> Events[int]:
        for piece in text:
            yield TokenArrived(piece)
        step.record = replace(step.record, characters=len(text))
        return len(text)

    trace = Trace()
    events = list(trace.stream(GenerateStep(), write, "ab"))
    assert told(events) == ["StepStarted generate", "TokenArrived", "TokenArrived", "StepFinished"]
    assert outcome(trace.stream(GenerateStep(), write, "abc")) == 3
    assert trace.steps[1].ms >= 0


def test_a_step_knows_when_it_began_by_one_look_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    before = time.time()
    trace = Trace()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: 0.0)  # the clock is set: no step moves
        outcome(trace.take(SearchStep(), search, 1))
        outcome(trace.take(FuseStep(), lambda step: None))
    first, second = trace.steps
    assert before <= trace.started_at <= first.started_at
    assert second.started_at >= first.started_at + first.ms / 1000 - 1e-5
    assert second.started_at <= time.time()
    assert trace.seconds >= 0.02


def test_skipped_and_failed_steps_say_why_and_the_run_goes_on() -> None:
    trace = Trace()
    outcome(trace.take(HydeStep(), lambda step: step.skip("switched off")))
    outcome(trace.take(RerankStep(), lambda step: step.fail("no answer in 3 s")))
    assert [(step.name, step.status, step.detail) for step in trace.steps] == [
        ("hyde", "skipped", "switched off"),
        ("rerank", "failed", "no answer in 3 s"),
    ]


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (StoreError("The disk is gone."), "The disk is gone."),
        (ValueError("bad vector"), "bad vector"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_work_that_raises_is_a_failed_step_and_raises_on(
    error: BaseException, detail: str, streams: bool
) -> None:
    def fail(step: RunningStep[HydeStep]) -> None:
        raise error

    def fail_after(step: RunningStep[HydeStep]) -> Events[None]:
        yield TokenArrived("a")
        raise error

    trace, heard = Trace(), list[ChatEvent]()
    events = trace.stream(HydeStep(), fail_after) if streams else trace.take(HydeStep(), fail)
    with pytest.raises(type(error)):
        heard.extend(events)
    assert [(step.name, step.status, step.detail) for step in trace.steps] == [("hyde", "failed", detail)]


def test_of_a_list_the_first_ranks_are_kept() -> None:
    def find(step: RunningStep[SearchStep]) -> None:
        step.record = replace(step.record, dense_sections=tuple(Hit("a", "a", 1.0) for _ in range(50)))

    short, whole = Trace(ranks=7), Trace(ranks=None)
    for trace in (short, whole):
        outcome(trace.take(SearchStep(), find))
    assert [len(trace.steps[0].dense_sections) for trace in (short, whole)] == [7, 50]  # type: ignore[attr-defined]


def test_a_block_is_a_step_with_its_events_also_where_it_fails() -> None:
    events: list[ChatEvent] = []
    trace = Trace(ranks=2, emit=events.append)
    with trace.step(SearchStep(text="fan")) as searching:
        searching.set(hits=3, bm25_sections=tuple(Hit(str(n), str(n), 1.0) for n in range(5)))
    with trace.step(RerankStep()) as reranking:
        assert not reranking.is_on(False)
    with pytest.raises(StoreError), trace.step(FuseStep()):
        raise StoreError("Gone.", "Wait.")
    assert told(events) == [
        "StepStarted search", "StepFinished", "StepStarted rerank", "StepFinished",
        "StepStarted fuse", "StepFinished",
    ]  # fmt: skip
    assert [(step.name, step.status, step.detail) for step in trace.steps] == [
        ("search", "ok", ""), ("rerank", "skipped", "switched off"), ("fuse", "failed", "Gone. Wait."),
    ]  # fmt: skip
    assert [event.step for event in events if isinstance(event, StepFinished)] == trace.steps
    assert isinstance(trace.steps[0], SearchStep)
    assert [hit.node_id for hit in trace.steps[0].bm25_sections] == ["0", "1"]


def test_work_in_a_thread_is_streamed_with_its_context_its_outcome_and_its_exception() -> None:
    known: ContextVar[str] = ContextVar("known", default="")
    known.set("caller")

    def work(emit: Emit) -> str:
        emit(TokenArrived("one"))
        assert threading.current_thread() is not threading.main_thread()
        if known.get() != "caller":
            raise StoreError("Gone.", "Wait.")
        return "done"

    assert outcome(streamed(work)) == "done"
    events = streamed(work)
    assert next(events) == TokenArrived("one")
    known.set("another")
    with pytest.raises(StoreError):
        list(streamed(work))
    events.close()  # waits for the thread
