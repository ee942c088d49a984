"""Jobs after answers: one after the other, and a failed one stops no other."""

from __future__ import annotations

import threading

import pytest

from memory.chat import AfterAnswers
from pipeline.errors import StoreError


def test_jobs_are_done_one_after_the_other() -> None:
    after, go = AfterAnswers(), threading.Event()
    done: list[str] = []

    def slow() -> None:
        assert go.wait(10)
        done.append("first")

    after.add(slow)
    after.add(lambda: done.append("second"))
    assert not after.finish(within_s=0.01)
    go.set()
    assert after.finish()
    assert done == ["first", "second"]


@pytest.mark.parametrize("error", [StoreError("The disk is full."), ZeroDivisionError("a fault")])
def test_what_failed_is_logged_and_stops_nothing_else(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def failing() -> None:
        raise error

    after = AfterAnswers()
    after.add(failing)
    after.add(lambda: done.append("second"))
    assert after.finish()
    assert done == ["second"]
    assert "not remembered" in caplog.text


def test_an_answer_is_given_where_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    after = AfterAnswers()
    after.add(lambda: None)
    assert after.finish(within_s=0.01)
