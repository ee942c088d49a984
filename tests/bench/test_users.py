"""What users meet is counted: answers with the search's own time, failures by their message."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from bench import users
from bench.users import ask, retrieval_ms, run
from pipeline.answer import Answer
from pipeline.errors import StoreError
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, SourcesFound, TokenArrived
from pipeline.steps.records import EmbedStep, GenerateStep, HydeStep, SearchStep, Step

STEPS = (HydeStep(ms=500.0), EmbedStep(ms=3.0), SearchStep(ms=20.0), GenerateStep(ms=900.0))


def an_answer(*steps: Step, status: str = "complete") -> Answer:
    return Answer("q", "q", "text", "generated", "m", False, steps=steps, status=status)  # type: ignore[arg-type]


class FakeEngine:
    """Yields the events that it was made with."""

    def __init__(self, *events: ChatEvent) -> None:
        self._events = events

    def run(self, message: str) -> Iterator[ChatEvent]:
        time.sleep(0.001)
        yield from self._events


class FakeAthena:
    """Opens engines that answer; with `fails`, only while it is warmed up."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.opened = 0
        self.closed = False
        self.serves = False

    def warm_up(self, *, serving: bool) -> None:
        self.serves = serving

    def chat(self) -> FakeEngine:
        self.opened += 1
        if self.fails and self.opened > users.WARM_UP_QUESTIONS:
            raise StoreError("The server is gone.", "Start it.")
        return FakeEngine(TokenArrived("text"), AnswerFinished(an_answer(*STEPS)))

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "SAMPLE_EVERY_S", 0.05)
    monkeypatch.setattr(users, "PAUSE_AFTER_ERROR_S", 0.1)


def test_a_search_is_timed_without_the_language_model() -> None:
    assert retrieval_ms(an_answer(*STEPS)) == 23.0


def test_an_answer_has_no_error() -> None:
    events = (SourcesFound(None), TokenArrived("a"), AnswerFinished(an_answer(*STEPS)))
    asked = ask(FakeEngine(*events), "q")  # type: ignore[arg-type]
    assert asked.error == "" and asked.retrieval_ms == 23.0
    assert 0 < asked.first_word_s <= asked.answer_s


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ((RunFailed("The store is gone.", "Start it."),), "The store is gone."),
        ((), "The answer ended without a last event."),
        ((AnswerFinished(an_answer(SearchStep(ms=1.0, status="failed", detail="no"))),), "search: no"),
        ((AnswerFinished(an_answer(status="interrupted")),), "the answer is interrupted"),
    ],
)
def test_whatever_goes_wrong_is_an_error(events: tuple[ChatEvent, ...], error: str) -> None:
    assert ask(FakeEngine(*events), "q").error == error  # type: ignore[arg-type]


def test_all_users_ask_until_the_time_is_over() -> None:
    load = run(FakeAthena(), ["a", "b"], users=4, seconds=0.5, ramp_seconds=0.02)  # type: ignore[arg-type]
    assert len(load.asked) >= 4
    assert not [item for item in load.asked if item.error]
    assert 3 <= len(load.memory_mb) <= 12


def test_a_conversation_that_cannot_be_opened_is_an_error() -> None:
    load = run(FakeAthena(fails=True), ["a", "b", "c"], users=2, seconds=0.05)  # type: ignore[arg-type]
    assert len(load.asked) == 2
    assert all("The server is gone." in item.error for item in load.asked)
