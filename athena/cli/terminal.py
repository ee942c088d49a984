"""Texts of others on a terminal: what would move its cursor or change its title is shown, not obeyed."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from pipeline.harmless import harmless


class Terminal(Console):
    """A console whose colours are its own: names, documents and answers bring none."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is to be written, without orders of anybody else's."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=harmless(segment.text))


class HarmlessLines(logging.Formatter):
    """Lines of the log, made likewise."""

    def format(self, record: logging.LogRecord) -> str:
        """One record's lines."""
        return harmless(super().format(record))
