"""The events of an answer, which `Athena.stream` yields, and of an ingest."""

from __future__ import annotations

from pipeline.ingest import IngestReport, Progress
from pipeline.steps.events import (
    AnswerFinished,
    ChatEvent,
    RunFailed,
    SentencesCited,
    SourcesFound,
    StepFinished,
    StepStarted,
    ThoughtArrived,
    TokenArrived,
)
from readers.errors import ReaderError

__all__ = [
    "AnswerFinished",
    "ChatEvent",
    "IngestReport",
    "Progress",
    "ReaderError",
    "RunFailed",
    "SentencesCited",
    "SourcesFound",
    "StepFinished",
    "StepStarted",
    "ThoughtArrived",
    "TokenArrived",
]
