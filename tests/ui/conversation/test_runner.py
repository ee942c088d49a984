"""Answers and jobs run in threads: what arrived is kept, whatever ends them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.answer import Answer
from pipeline.errors import AthenaError, ModelUnavailable
from pipeline.ingest import Progress
from pipeline.steps.events import (
    AnswerFinished,
    RunFailed,
    StepFinished,
    StepStarted,
    TokenArrived,
)
from pipeline.steps.records import Step
from pipeline.stores.turns import Turn
from tests.ui.conversation.scripted import SECONDS, ScriptedEngine
from ui.conversation import talk
from ui.conversation.runner import ENDED_KEPT, UNEXPECTED, Run, Runner
from ui.shared.jobs import Job, Jobs


def answer(text: str = "It is shut [1].") -> Answer:
    return Answer("Why?", "Why?", text, "generate", "fake", False, turn_id="t1")


def finished(*script: Any) -> Run:
    run = Run("Why?")
    run.start(ScriptedEngine(list(script)))
    assert run.wait(SECONDS)
    return run


def test_collects_text_and_answer() -> None:
    now = finished(
        StepStarted("search", "Searching"), StepFinished(Step("search", ms=3.0)),
        TokenArrived("It is "), TokenArrived("shut."),
        AnswerFinished(answer()),
    ).snapshot()  # fmt: skip
    assert (now.text, now.step, now.working, now.failure) == ("It is shut.", "", False, None)
    assert now.answer == answer()


def test_shows_the_running_step_and_what_arrived() -> None:
    gate = threading.Event()
    run = Run("Why?")
    run.start(
        ScriptedEngine([StepStarted("search", "Searching 12 sentences"), gate, AnswerFinished(answer())])
    )
    _until(lambda: run.snapshot().step == "Searching 12 sentences")
    assert run.snapshot().working
    gate.set()
    assert run.wait(SECONDS)
    assert run.snapshot().step == ""


def test_stopping_keeps_the_partial_text() -> None:
    run = Run("Why?")
    run.start(ScriptedEngine([TokenArrived("It "), threading.Event()]))
    _until(lambda: run.snapshot().text == "It ")
    run.stop.set()
    assert run.wait(SECONDS)
    assert (run.snapshot().text, run.snapshot().failure, run.snapshot().working) == ("It ", None, False)


def test_an_error_of_ours_becomes_a_failure_with_its_advice() -> None:
    now = finished(TokenArrived("It "), ModelUnavailable("Ollama is gone.", "Start it.")).snapshot()
    assert now.failure == RunFailed("Ollama is gone.", "Start it.", "It ")
    assert now.text == "It "


def test_an_unexpected_error_does_not_leave_the_page_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda hook: raised.append(hook.exc_type))
    assert finished(ValueError("a bug")).snapshot().failure == UNEXPECTED
    for thread in threading.enumerate():
        if thread.name == "answer":
            thread.join(SECONDS)
    assert raised == [ValueError]  # the program's bug still reaches the terminal


def test_one_run_a_conversation_at_a_time() -> None:
    gate, runner = threading.Event(), Runner()
    engine = ScriptedEngine([gate, AnswerFinished(answer())])
    first = runner.ask(engine, conversation_id="c1", question="Why?")
    assert first
    assert runner.ask(engine, conversation_id="c1", question="And now?") is None, "and it says so"
    assert runner.of("c1") is first
    other = runner.ask(engine, conversation_id="c2", question="Other?")
    assert other
    gate.set()
    assert first.wait(SECONDS)
    assert other.wait(SECONDS)
    assert sorted(engine.asked) == ["Other?", "Why?"]


def test_runs_that_ended_long_ago_are_dropped_and_those_at_work_stay() -> None:
    gate, runner = threading.Event(), Runner()
    runner.ask(ScriptedEngine([gate]), conversation_id="works", question="Why?")
    names = [str(number) for number in range(ENDED_KEPT + 2)]
    for name in names:
        run = runner.ask(ScriptedEngine([AnswerFinished(answer())]), conversation_id=name, question="Why?")
        assert run
        assert run.wait(SECONDS)
    kept = [name for name in ("works", *names) if runner.of(name)]
    assert kept == ["works", *names[1:]], "the last one was at work when the others were counted"
    gate.set()


def test_forgetting_stops_the_run() -> None:
    runner = Runner()
    run = runner.ask(ScriptedEngine([threading.Event()]), conversation_id="c1", question="Why?")
    assert run
    runner.forget("c1")
    assert run.wait(SECONDS)
    assert runner.of("c1") is None


def test_a_job_reports_progress_and_can_be_cancelled() -> None:
    started = threading.Event()
    report = SimpleNamespace()

    def work(*, on_progress: Callable[[Any], None], should_stop: Callable[[], bool]) -> Any:
        for progress in (Progress("reading", 1, 2), Progress("embedding", 0, 9), Progress("reading", 2, 2)):
            on_progress(progress)
        started.set()
        while not should_stop():
            started.wait(0.01)
        return report

    jobs = Jobs()
    assert jobs.start("Adding", work)
    job = jobs.current
    assert job is not None
    assert started.wait(SECONDS)
    assert job.working
    assert [*job.progress.values()] == [Progress("reading", 2, 2), Progress("embedding", 0, 9)]
    assert not jobs.start("Another", work)
    job.cancel()
    assert job.wait(SECONDS)
    assert job.report is report
    jobs.dismiss()
    assert jobs.current is None


def test_a_job_that_fails_says_why() -> None:
    def work(**_: Any) -> Any:
        raise AthenaError("The disk is full.", "Make room.")

    job = Job("Adding", work)
    job.start()
    assert job.wait(SECONDS)
    assert str(job.error) == "The disk is full. Make room."


def _until(condition: Callable[[], bool]) -> None:
    limit = threading.Event()
    for _ in range(500):
        if condition():
            return
        limit.wait(0.01)
    raise AssertionError("the condition did not come true")


def test_a_turn_whose_other_version_was_refused_is_shown_as_it_was() -> None:
    turns = tuple(
        Turn(name, "Why?", Answer("Why?", "Why?", "So.", "generate", "m", False), 0.0) for name in "ab"
    )
    refused = Run("Why?", in_place_of="a")
    assert talk._is_stored(refused, turns)
    assert not talk._is_stored(Run("Why?"), turns), "another one of these words"
