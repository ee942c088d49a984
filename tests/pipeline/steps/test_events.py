"""Steps: timed, in order, and heard of as they happen."""

from __future__ import annotations

import time

import pytest

from pipeline.steps.events import RunningStep, Step, Trace


def test_a_step_is_timed_and_keeps_what_went_in_and_out() -> None:
    trace = Trace()
    with trace.step("search", text="fan", alpha=0.5) as step:
        time.sleep(0.02)
        step.outputs["found"] = 3
    (done,) = trace.steps
    assert (done.name, done.status, done.detail) == ("search", "ok", "")
    assert (done.inputs, done.outputs) == ({"text": "fan", "alpha": 0.5}, {"found": 3})
    assert 20 <= done.ms < 2000


def test_a_step_knows_when_it_began_by_one_look_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    before = time.time()
    trace = Trace()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: 0.0)  # the clock is set: no step moves
        with trace.step("search"):
            time.sleep(0.02)
        with trace.step("fuse"):
            pass
    search, fuse = trace.steps
    assert before <= trace.started_at <= search.started_at
    assert fuse.started_at >= search.started_at + search.ms / 1000 - 1e-5
    assert fuse.started_at <= time.time()
    assert trace.seconds >= 0.02


def test_a_step_of_an_older_version_has_no_beginning() -> None:
    assert Step("search", 3.0).started_at == 0.0


def test_skipped_and_failed_steps_say_why_and_the_run_goes_on() -> None:
    trace = Trace()
    with trace.step("hyde") as step:
        step.skip("switched off")
    with trace.step("rerank") as step:
        step.fail("no answer in 3 s")
    assert [(step.name, step.status, step.detail) for step in trace.steps] == [
        ("hyde", "skipped", "switched off"),
        ("rerank", "failed", "no answer in 3 s"),
    ]


@pytest.mark.parametrize(
    ("error", "detail"),
    [(ValueError("bad vector"), "bad vector"), (KeyboardInterrupt(), "KeyboardInterrupt")],
)
def test_a_block_that_raises_is_a_failed_step_and_raises_on(error: BaseException, detail: str) -> None:
    trace = Trace()
    with pytest.raises(type(error)), trace.step("embed"):
        raise error
    assert [(step.name, step.status, step.detail) for step in trace.steps] == [("embed", "failed", detail)]


def test_listeners_hear_of_each_step_as_it_happens() -> None:
    heard: list[tuple[str, str]] = []

    def started(step: RunningStep) -> None:
        heard.append(("start", step.name))

    def finished(step: Step) -> None:
        heard.append(("finish", step.name))

    trace = Trace(started, finished)
    with trace.step("outer"), trace.step("inner"):
        heard.append(("work", ""))
    assert heard == [
        ("start", "outer"), ("start", "inner"), ("work", ""), ("finish", "inner"), ("finish", "outer")
    ]  # fmt: skip
    assert [step.name for step in trace.steps] == ["inner", "outer"]
