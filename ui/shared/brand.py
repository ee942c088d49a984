"""The assistant's name and logo, and whether the demonstration's manuals are read."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.answering.persona import Persona
from pipeline.errors import AthenaError
from ui.shared import process

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo

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


MANUAL = "systems/atmosphere-supply.md"  # one of the manuals that come with Athena


def is_the_ships(documents: Iterable[DocumentInfo]) -> bool:
    """Return whether the manuals that come with Athena are among the documents."""
    return any(info.source.endswith(MANUAL) for info in documents)
