"""Answers and jobs run in threads: what arrived is kept, whatever ends them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.answer import Answer
from pipeline.errors import ModelUnavailable
from pipeline.ingest import IngestReport, Progress
from pipeline.steps.events import AnswerFinished, StepStarted, TokenArrived
from pipeline.stores.turns import Turn
from tests.ui.conftest import until
from tests.ui.conversation.scripted import SECONDS, Scripted
from ui.conversation import talk
from ui.conversation.runner import ENDED_KEPT, Run, Runner
from ui.shared.jobs import UNEXPECTED, index, jobs


def answer(text: str = "It is shut [1].") -> Answer:
    return Answer("Why?", "Why?", text, "generate", "fake", False, turn_id="t1")


def finished(*script: Any) -> Run:
    run = Run("Why?")
    run.answer(Scripted(list(script)))
    assert run.wait(SECONDS)
    return run


def test_shows_the_running_step_and_what_arrived() -> None:
    gate, title = threading.Event(), threading.Event()
    step = StepStarted("search", "Searching 12 sentences")
    run = Run("Why?")
    run.answer(Scripted([step, gate, AnswerFinished(answer()), title]))
    assert until(lambda: run.snapshot().step == "Searching 12 sentences")
    assert run.snapshot().working and not run.naming
    gate.set()
    assert until(lambda: run.naming)
    assert (run.snapshot().step, run.working) == ("", False)
    title.set()
    assert run.wait(SECONDS) and not run.naming


def test_stopping_keeps_the_partial_text() -> None:
    run = Run("Why?")
    run.answer(Scripted([TokenArrived("It "), threading.Event()]))
    assert until(lambda: run.snapshot().text == "It ")
    run.stop.set()
    assert run.wait(SECONDS)
    assert (run.snapshot().text, run.snapshot().failure, run.snapshot().working) == ("It ", None, False)


def test_an_error_of_ours_becomes_a_failure_with_its_advice() -> None:
    now = finished(TokenArrived("It "), ModelUnavailable("Ollama is gone.", "Start it.")).snapshot()
    assert now.failure is not None and str(now.failure.error) == "Ollama is gone. Start it."
    assert now.text == "It "


def test_an_unexpected_error_does_not_leave_the_page_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda hook: raised.append(hook.exc_type))
    failure = finished(ValueError("a bug")).snapshot().failure
    assert failure is not None and failure.error is UNEXPECTED
    for thread in threading.enumerate():
        if thread.name == "athena-work":
            thread.join(SECONDS)
    assert raised == [ValueError]  # the program's bug still reaches the terminal


def test_one_run_a_conversation_at_a_time() -> None:
    gate, runner = threading.Event(), Runner()
    engine = Scripted([gate, AnswerFinished(answer())])
    first = runner.ask(engine, conversation_id="c1", question="Why?")
    assert first
    assert runner.ask(engine, conversation_id="c1", question="And now?") is None, "and it says so"
    assert runner.of("c1") is first
    other = runner.ask(engine, conversation_id="c2", question="Other?")
    assert other
    gate.set()
    assert first.wait(SECONDS)
    assert other.wait(SECONDS)


def test_runs_that_ended_long_ago_are_dropped_and_those_at_work_stay() -> None:
    gate, runner = threading.Event(), Runner()
    runner.ask(Scripted([gate]), conversation_id="works", question="Why?")
    names = [str(number) for number in range(ENDED_KEPT + 2)]
    for name in names:
        run = runner.ask(Scripted([AnswerFinished(answer())]), conversation_id=name, question="Why?")
        assert run
        assert run.wait(SECONDS)
    kept = [name for name in ("works", *names) if runner.of(name)]
    assert kept == ["works", *names[1:]], "the last one was at work when the others were counted"
    gate.set()


def test_forgetting_stops_the_run() -> None:
    runner = Runner()
    run = runner.ask(Scripted([threading.Event()]), conversation_id="c1", question="Why?")
    assert run
    runner.forget("c1")
    assert run.wait(SECONDS)
    assert runner.of("c1") is None


def test_a_job_has_bars_and_can_be_stopped() -> None:
    started = threading.Event()
    report = IngestReport()

    def ingest(*, on_progress: Callable[[Any], None], should_stop: Callable[[], bool]) -> IngestReport:
        for progress in (Progress("reading", 1, 2), Progress("embedding", 0, 9), Progress("reading", 2, 2)):
            on_progress(progress)
        started.set()
        while not should_stop():
            started.wait(0.01)
        return report

    jobs().dismiss()
    assert index("Adding", ingest)
    job = jobs().current
    assert job is not None and started.wait(SECONDS) and job.working
    assert {name: share for name, (share, _) in job.bars.items()} == {"reading": 1.0, "embedding": 0.0}
    assert not index("Another", ingest)
    job.stop.set()
    assert job.wait(SECONDS) and job.report is report and job.error is None
    jobs().dismiss()
    assert jobs().current is None


def test_a_turn_whose_other_version_was_refused_is_shown_as_it_was() -> None:
    turns = tuple(Turn(name, Answer("Why?", "Why?", "So.", "generate", "m", False), 0.0) for name in "ab")
    refused = Run("Why?", in_place_of="a")
    assert talk._is_stored(refused, turns)
    assert not talk._is_stored(Run("Why?"), turns), "another one of these words"
