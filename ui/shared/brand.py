"""The assistant's name and logo; another persona changes both."""

from __future__ import annotations

import logging
from html import escape
from pathlib import Path

from pipeline.answering.persona import Persona
from pipeline.errors import AthenaError
from ui.shared import process

log = logging.getLogger(__name__)

ICON = Path(__file__).with_name("icon.svg")
LOGO = Path(__file__).with_name("logo.svg")
LOGO_MARK, LOGO_LETTER = 60, 12  # the picture's width, and that of a letter beside it


def name() -> str:
    """What the assistant is called; the page reports a persona that cannot be read."""
    try:
        return process.persona().name
    except AthenaError as error:
        log.warning("the persona cannot be read: %s", error)
        return Persona().name


def logo(called: str) -> str:
    """The logo: the picture with the assistant's name beside it."""
    width = LOGO_MARK + LOGO_LETTER * len(called)
    drawn = LOGO.read_text(encoding="utf-8").replace("132", f"{width:.0f}")
    return drawn.replace(">Athena<", f">{escape(called)}<")
