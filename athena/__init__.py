"""What a program imports: `from athena import load_settings, open_athena` (docs/library.md).

Each name is imported at its first use, so that a program loads only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from athena.assistant import Athena, open_athena
    from athena.loading import load_settings
    from athena.settings import Settings
    from athena.streams import AnswerStream, AsyncAnswerStream
    from pipeline.answer import Answer, Citation, Passage, Retrieval
    from pipeline.errors import AthenaError
    from pipeline.messages import Message

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "AnswerStream",
    "AsyncAnswerStream",
    "Athena",
    "AthenaError",
    "Citation",
    "Message",
    "Passage",
    "Retrieval",
    "Settings",
    "load_settings",
    "open_athena",
]

_HOME = {
    "Answer": "pipeline.answer",
    "AnswerStream": "athena.streams",
    "AsyncAnswerStream": "athena.streams",
    "Athena": "athena.assistant",
    "AthenaError": "pipeline.errors",
    "Citation": "pipeline.answer",
    "Message": "pipeline.messages",
    "Passage": "pipeline.answer",
    "Retrieval": "pipeline.answer",
    "Settings": "athena.settings",
    "load_settings": "athena.loading",
    "open_athena": "athena.assistant",
}


def __getattr__(name: str) -> object:
    """Import a public name from the module that defines it."""
    if name not in _HOME:
        raise AttributeError(f"module 'athena' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """Return the public names, for completion at a prompt."""
    return [*__all__, "__version__"]
