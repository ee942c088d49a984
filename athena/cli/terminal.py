"""Texts of others on a terminal: what would move its cursor or change its title is shown, not obeyed."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
_SHOWN = _PICTURES | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def harmless(text: str) -> str:
    """The text with pictures of its control characters in their places: ␛ for the one that begins orders."""
    return text.translate(_SHOWN)


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
