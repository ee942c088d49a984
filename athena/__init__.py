"""The public names of the library: `from athena import load_settings, open_athena` (docs/library.md).

Each name is imported at its first use, so that a program loads only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from athena.assistant import Athena as Athena
    from athena.assistant import open_athena as open_athena
    from athena.loading import load_settings as load_settings
    from athena.settings import Settings as Settings
    from athena.streams import AnswerStream as AnswerStream
    from pipeline.answer import Answer as Answer
    from pipeline.answer import Citation as Citation
    from pipeline.answer import Message as Message
    from pipeline.answer import Passage as Passage
    from pipeline.answer import Retrieval as Retrieval
    from pipeline.errors import AthenaError as AthenaError
    from pipeline.ingest import IngestReport as IngestReport
    from pipeline.steps.events import AnswerFinished as AnswerFinished
    from pipeline.steps.events import SourcesFound as SourcesFound
    from readers.llamaindex import MarkdownReader as MarkdownReader
    from readers.llamaindex import PunktSentenceParser as PunktSentenceParser

__version__ = "0.1.0"

_NAMES = {
    "athena.assistant": ("Athena", "open_athena"),
    "athena.loading": ("load_settings",),
    "athena.settings": ("Settings",),
    "athena.streams": ("AnswerStream",),
    "pipeline.answer": ("Answer", "Citation", "Message", "Passage", "Retrieval"),
    "pipeline.errors": ("AthenaError",),
    "pipeline.ingest": ("IngestReport",),
    "pipeline.steps.events": ("AnswerFinished", "SourcesFound"),
    "readers.llamaindex": ("MarkdownReader", "PunktSentenceParser"),
}


def __getattr__(name: str) -> object:
    """Import a public name from the module that defines it; raise `AttributeError` for other names."""
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'athena' has no attribute {name!r}")
