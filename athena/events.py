"""What happens while an answer is made (`Athena.stream` yields it) or documents are indexed."""

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
