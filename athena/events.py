"""What happens while an answer is made (`Athena.stream` yields it) or documents are indexed."""

from __future__ import annotations

from pipeline.ingest import IngestReport, Problem, Progress
from pipeline.steps.events import (
    AnswerFinished,
    ChatEvent,
    RunFailed,
    SourcesFound,
    StepFinished,
    StepStarted,
    TokenArrived,
)

__all__ = [
    "AnswerFinished",
    "ChatEvent",
    "IngestReport",
    "Problem",
    "Progress",
    "RunFailed",
    "SourcesFound",
    "StepFinished",
    "StepStarted",
    "TokenArrived",
]
