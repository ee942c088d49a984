"""The mission (the game) under the settings: whether it is offered, where it is saved, and its persona."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import mission
from athena.settings import MANUALS, Settings

if TYPE_CHECKING:
    from pipeline.answering.persona import Persona

MISSION_PERSONA = Path(mission.__file__).with_name("persona.toml")


def has_mission(settings: Settings) -> bool:
    """Return whether the corpus has the same `index.md` as the ship's manuals; False if one is unreadable."""
    first_pages = [folder / "index.md" for folder in (settings.corpus, MANUALS)]
    with suppress(OSError, UnicodeDecodeError):
        return len({page.read_text(encoding="utf-8") for page in first_pages}) == 1
    return False


def mission_folder(settings: Settings) -> Path:
    """Return the folder of the saved games and of the best time of each level."""
    return settings.data_dir / "mission"


def mission_persona() -> Persona:
    """Return the assistant's persona in the game; raise `ConfigurationError` if its file is invalid."""
    from pipeline.answering.persona import load_persona

    return load_persona(MISSION_PERSONA)
