"""The assistant's name and logo, and whether the demonstration's manuals are read."""

from __future__ import annotations

import logging
from collections.abc import Iterable
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


def name() -> str:
    """Return the assistant's name; the page reports a persona that cannot be read."""
    try:
        return process.persona().name
    except AthenaError as error:
        log.warning("the persona cannot be read: %s", error)
        return Persona().name


MANUAL = "systems/atmosphere-supply.md"  # one of the manuals that come with Athena


def is_the_ships(documents: Iterable[DocumentInfo]) -> bool:
    """Return whether the manuals that come with Athena are among the documents."""
    return any(info.source.endswith(MANUAL) for info in documents)
