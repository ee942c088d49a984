"""A finished turn as a tree of spans: the turn, and below it its steps as they were recorded.

Nothing is measured here, and nothing is sent: `pipeline/steps/phoenix.py` does that.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.answering.turn import FinishedTurn
from pipeline.steps.openinference import Attributes, bounded, step_attributes, turn_attributes
from pipeline.steps.records import Step

TURN = "chat"
NS_A_SECOND = 1_000_000_000
NS_A_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """One span, times in nanoseconds since 1970; `error` is empty where all went well."""

    name: str
    start: int
    end: int
    attributes: Attributes
    error: str = ""


def turn_spans(turn: FinishedTurn) -> tuple[SpanRecord, tuple[SpanRecord, ...]]:
    """The span of a turn, and those of its steps in order, all of them within it."""
    steps = tuple(_of_step(step, turn) for step in turn.steps)
    start = _nanoseconds(turn.started_at)
    end = max([start + round(turn.seconds * NS_A_SECOND), *(step.end for step in steps)])
    return SpanRecord(TURN, start, end, turn_attributes(turn), _why_failed(turn)), steps


def _of_step(step: Step, turn: FinishedTurn) -> SpanRecord:
    start = max(_nanoseconds(turn.started_at), _nanoseconds(step.started_at))
    error = bounded(step.detail or step.name) if step.status == "failed" else ""
    return SpanRecord(step.name, start, start + round(step.ms * NS_A_MS), step_attributes(step, turn), error)


def _why_failed(turn: FinishedTurn) -> str:
    """A failed turn's last notice says why it ended."""
    if turn.answer.status != "failed":
        return ""
    return bounded(turn.answer.notices[-1]) if turn.answer.notices else "failed"


def _nanoseconds(seconds: float) -> int:
    return round(seconds * NS_A_SECOND)
