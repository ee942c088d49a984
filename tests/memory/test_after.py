"""What is done after answers: one job after the other, and all of it before `finish` returns."""

from __future__ import annotations

import threading

import pytest

from memory.after import AfterAnswers
from pipeline.errors import StoreError


def test_what_failed_stops_nothing_else() -> None:
    done: list[str] = []

    def failing() -> None:
        raise StoreError("The disk is full.")

    after = AfterAnswers(background=False)
    after.add(failing)
    after.add(lambda: done.append("second"))
    after.finish()
    assert done == ["second"]


def test_jobs_are_done_in_the_background_one_after_the_other() -> None:
    after, go, over = AfterAnswers(background=True), threading.Event(), threading.Event()
    done: list[str] = []

    def slow() -> None:
        assert go.wait(10)
        done.append("first")

    after.add(slow)
    after.add(lambda: done.append("second"))
    after.add(over.set)
    assert not after.finish(within_s=0.01)
    go.set()
    assert over.wait(10)
    assert done == ["first", "second"]


def test_a_broken_job_is_reported_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    def broken() -> None:
        raise ZeroDivisionError

    after = AfterAnswers(background=True)
    after.add(broken)
    after.add(lambda: done.append("second"))
    after.finish()
    assert done == ["second"]
    assert "ZeroDivisionError" in caplog.text


def test_where_no_thread_can_be_had_jobs_are_done_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    done: list[str] = []
    after = AfterAnswers(background=True)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    after.add(lambda: done.append("first"))
    after.add(lambda: done.append("second"))
    assert after.finish()
    assert done == ["first", "second"]


def test_no_job_is_begun_when_the_time_is_over() -> None:
    done: list[str] = []
    after = AfterAnswers(background=False)
    after.add(lambda: done.append("first"))
    after.add(lambda: done.append("second"))
    assert not after.finish(within_s=0)
    assert done == ["first"]
    assert after.finish()
    assert done == ["first", "second"]
